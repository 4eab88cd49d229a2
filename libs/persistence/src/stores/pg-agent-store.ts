import { createHash } from 'node:crypto';
import { type AgentDeclaration, type AgentRecord, AgentStore, type BackendVersion, type RunPolicy } from '#lib/domain';
import type { DataSource } from 'typeorm';
import { AgentRow, AgentsFileRow, BackendVersionRow } from '../entities/agent.row.js';

/** Agents and backend versions in Postgres. */
export class PgAgentStore extends AgentStore {
  constructor(private readonly source: DataSource) {
    super();
  }

  override async all(): Promise<readonly AgentRecord[]> {
    const rows = await this.source.getRepository(AgentRow).find({ order: { id: 'ASC' } });
    return rows.map((row) => ({
      ...(JSON.parse(row.declaration) as AgentDeclaration),
      version: row.version,
      updatedAtMs: row.updatedAt.getTime(),
    }));
  }

  /** The digest's row is the guard: of many gateways one inserts it and applies the file, in one transaction. */
  override async applyFile(digest: string, agents: readonly AgentDeclaration[]): Promise<boolean> {
    return this.source.transaction(async (manager) => {
      const inserted = await manager
        .createQueryBuilder()
        .insert()
        .into(AgentsFileRow)
        .values({ digest, appliedAt: () => 'clock_timestamp()' })
        .orIgnore()
        .returning('digest')
        .execute();
      if ((inserted.raw as unknown[]).length === 0) return false;
      await manager.query(UPSERT_AGENTS, [
        agents.map((agent) => agent.id),
        agents.map((agent) => JSON.stringify(agent)),
      ]);
      return true;
    });
  }

  override async backendVersion(backend: Omit<BackendVersion, 'id'>): Promise<BackendVersion> {
    const { agentId, runner, pool } = backend;
    const options = JSON.stringify(backend.options);
    const policy = JSON.stringify(backend.policy);
    const content = JSON.stringify([agentId, runner, pool, options, policy]);
    const id = `bv_${createHash('sha256').update(content).digest('hex').slice(0, 32)}`;
    await this.source
      .createQueryBuilder()
      .insert()
      .into(BackendVersionRow)
      .values({ id, agentId, runner, pool, options, policy, createdAt: () => 'clock_timestamp()' })
      .orIgnore()
      .execute();
    return { id, agentId, runner, pool, options: backend.options, policy: JSON.parse(policy) as RunPolicy };
  }
}

const UPSERT_AGENTS = `
insert into agents as a (id, declaration, updated_at)
select id, declaration, clock_timestamp() from unnest($1::text[], $2::text[]) as f(id, declaration)
on conflict (id) do update set declaration = excluded.declaration, version = a.version + 1, updated_at = excluded.updated_at
where a.declaration <> excluded.declaration`;
