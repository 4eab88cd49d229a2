import { createHash } from 'node:crypto';
import {
  type AgentEdit,
  type AgentFileEntry,
  AgentStore,
  type AuditEntry,
  type BackendVersion,
  type RunPolicy,
  type StoredAgent,
} from '#lib/domain';
import type { DataSource, EntityManager } from 'typeorm';
import { AgentRow, AgentsFileRow, BackendVersionRow } from '../entities/agent.row.js';
import { orUnavailable } from '../unavailable.js';
import { auditValues, insertAuditValues } from './audit.columns.js';
import { APPLY_TOOLS, TOOLS_LOCK } from './pg-tool-store.js';

/** Agents and backend versions in Postgres. */
export class PgAgentStore extends AgentStore {
  constructor(private readonly source: DataSource) {
    super();
  }

  override all(): Promise<readonly StoredAgent[]> {
    return orUnavailable(allAgents(this.source.manager));
  }

  /** One gateway at a time: of many that bring the same file, one applies it. An older file that comes back is new again. */
  override async applyFile(
    digest: string,
    agents: readonly AgentFileEntry[],
    tools: readonly AgentFileEntry[] = [],
  ): Promise<boolean> {
    return this.alone(async (manager) => {
      const [latest] = await manager.getRepository(AgentsFileRow).find({ order: { appliedAt: 'DESC' }, take: 1 });
      if (latest?.digest === digest) return false;
      await manager.query(APPLIED, [digest, ...auditValues(appliedFile(digest, agents.length))]);
      const ids = agents.map((agent) => agent.id);
      await manager.query('delete from agents where id <> all ($1)', [ids]);
      await manager.query(UPSERT_AGENTS, [ids, agents.map((agent) => JSON.stringify(agent))]);
      await manager.query('select pg_advisory_xact_lock($1)', [TOOLS_LOCK]);
      await manager.query(APPLY_TOOLS, [tools.map(({ id }) => id), tools.map((tool) => JSON.stringify(tool))]);
      return true;
    });
  }

  override change(decide: (agents: readonly StoredAgent[]) => AgentEdit): Promise<StoredAgent> {
    return this.alone(async (manager) => write(manager, decide(await allAgents(manager))));
  }

  override async activeTasks(): Promise<ReadonlyMap<string, number>> {
    const rows = await orUnavailable(this.source.query<{ agent_id: string; tasks: number }[]>(ACTIVE_TASKS));
    return new Map(rows.map((row) => [row.agent_id, row.tasks] as const));
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

  /** In one transaction, while nobody else changes agents. */
  private alone<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return orUnavailable(
      this.source.transaction(async (manager) => {
        await manager.query('select pg_advisory_xact_lock($1)', [LOCK_KEY]);
        return work(manager);
      }),
    );
  }
}

async function allAgents(manager: EntityManager): Promise<readonly StoredAgent[]> {
  const rows = await manager.getRepository(AgentRow).find({ order: { id: 'ASC' } });
  return rows.map((row) => ({
    id: row.id,
    source: JSON.parse(row.declaration) as StoredAgent['source'],
    version: row.version,
    updatedAtMs: row.updatedAt.getTime(),
  }));
}

async function write(manager: EntityManager, { id, source, replaces, audit }: AgentEdit): Promise<StoredAgent> {
  const rows = await manager.query<{ version: number; updated_at: Date }[]>(WRITE, [
    id,
    JSON.stringify(source),
    replaces ?? null,
    ...auditValues(audit),
  ]);
  const [row] = rows;
  if (!row) throw new Error('an agent changed while nobody could change it');
  return { id, source, version: row.version, updatedAtMs: row.updated_at.getTime() };
}

const LOCK_KEY = 7_305_810_002;

const APPLIED = `
with applied as (
  insert into agents_file (digest, applied_at) values ($1, clock_timestamp())
  on conflict (digest) do update set applied_at = excluded.applied_at returning digest
)
${insertAuditValues(2, 'applied')}`;

/** A gateway does this when it starts, with the file its operator has given it. */
function appliedFile(digest: string, agents: number): AuditEntry {
  const details = JSON.stringify({ agents });
  const who = { tenant: '*', principal: 'system', keyId: '', requestId: '' };
  return { ...who, action: 'agents.apply_file', target: digest, outcome: 'allowed', details };
}

/** Versions come from one sequence: an agent that was removed and comes back has none of its earlier ones. */
const UPSERT_AGENTS = `
insert into agents as a (id, declaration, version, updated_at)
select id, declaration, nextval('agent_versions'), clock_timestamp()
from unnest($1::text[], $2::text[]) as f(id, declaration)
on conflict (id) do update set declaration = excluded.declaration, version = excluded.version, updated_at = excluded.updated_at
where a.declaration <> excluded.declaration`;

const WRITE = `
with written as (
  insert into agents as a (id, declaration, version, updated_at)
  select $1, $2, nextval('agent_versions'), clock_timestamp()
  where $3::int is null or exists (select from agents where id = $1 and version = $3)
  on conflict (id) do update set declaration = excluded.declaration, version = excluded.version, updated_at = excluded.updated_at
  where a.version = $3
  returning version, updated_at
),
audited as (
  ${insertAuditValues(4, 'written')}
)
select version, updated_at from written`;

const ACTIVE_TASKS = `
select agent_id, count(*)::int as tasks from tasks where finished_at is null group by agent_id`;
