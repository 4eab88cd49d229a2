import { createHash } from 'node:crypto';
import { type AgentDeclaration, type AgentRecord, AgentStore, type BackendVersion, type RunPolicy } from '#lib/domain';
import type { DataSource } from 'typeorm';
import { AgentRow, AgentsFileRow, BackendVersionRow } from '../entities/agent.row.js';
import { orUnavailable } from '../unavailable.js';

/** Agents and backend versions in Postgres. */
export class PgAgentStore extends AgentStore {
  constructor(private readonly source: DataSource) {
    super();
  }

  override async all(): Promise<readonly AgentRecord[]> {
    const rows = await orUnavailable(this.source.getRepository(AgentRow).find({ order: { id: 'ASC' } }));
    return rows.map((row) => ({
      ...(JSON.parse(row.declaration) as AgentDeclaration),
      version: row.version,
      updatedAtMs: row.updatedAt.getTime(),
    }));
  }

  /** One gateway at a time: of many that bring the same file, one applies it. An older file that comes back is new again. */
  override async applyFile(digest: string, agents: readonly AgentDeclaration[]): Promise<boolean> {
    return orUnavailable(
      this.source.transaction(async (manager) => {
        await manager.query('select pg_advisory_xact_lock($1)', [LOCK_KEY]);
        const [latest] = await manager.getRepository(AgentsFileRow).find({ order: { appliedAt: 'DESC' }, take: 1 });
        if (latest?.digest === digest) return false;
        await manager.query(APPLIED, [digest]);
        const ids = agents.map((agent) => agent.id);
        await manager.query('delete from agents where id <> all ($1)', [ids]);
        await manager.query(UPSERT_AGENTS, [ids, agents.map((agent) => JSON.stringify(agent))]);
        return true;
      }),
    );
  }

  override async backendVersion(backend: Omit<BackendVersion, 'id'>): Promise<BackendVersion> {
    const { agentId, runner, pool } = backend;
    const options = JSON.stringify(backend.options);
    const policy = JSON.stringify(backend.policy);
    const content = JSON.stringify([agentId, runner, pool, options, policy]);
    const id = `bv_${createHash('sha256').update(content).digest('hex').slice(0, 32)}`;
    await orUnavailable(
      this.source
        .createQueryBuilder()
        .insert()
        .into(BackendVersionRow)
        .values({ id, agentId, runner, pool, options, policy, createdAt: () => 'clock_timestamp()' })
        .orIgnore()
        .execute(),
    );
    return { id, agentId, runner, pool, options: backend.options, policy: JSON.parse(policy) as RunPolicy };
  }
}

const LOCK_KEY = 7_305_810_002;

const APPLIED = `
insert into agents_file (digest, applied_at) values ($1, clock_timestamp())
on conflict (digest) do update set applied_at = excluded.applied_at`;

const UPSERT_AGENTS = `
insert into agents as a (id, declaration, updated_at)
select id, declaration, clock_timestamp() from unnest($1::text[], $2::text[]) as f(id, declaration)
on conflict (id) do update set declaration = excluded.declaration, version = a.version + 1, updated_at = excluded.updated_at
where a.declaration <> excluded.declaration`;
