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
import type pg from 'pg';
import type { Database, Statement } from '../database.js';
import { auditValues, insertAuditValues } from './audit.columns.js';
import { APPLY_TOOLS, TOOLS_LOCK } from './pg-tool-store.js';

/** Agents and backend versions in Postgres. */
export class PgAgentStore extends AgentStore {
  constructor(private readonly database: Database) {
    super();
  }

  override async all(): Promise<readonly StoredAgent[]> {
    return (await this.database.query<AgentRow>(ALL, [])).map(decodeAgent);
  }

  /** One gateway at a time: of many that bring the same file, one applies it. An older file that comes back is new again. */
  override async applyFile(
    digest: string,
    agents: readonly AgentFileEntry[],
    tools: readonly AgentFileEntry[] = [],
  ): Promise<boolean> {
    return this.alone(async (client) => {
      const { rows } = await client.query<{ digest: string }>(LATEST_FILE);
      if (rows[0]?.digest === digest) return false;
      await client.query(APPLIED, [digest, ...auditValues(appliedFile(digest, agents.length))]);
      const ids = agents.map((agent) => agent.id);
      await client.query('delete from agents where id <> all ($1)', [ids]);
      await client.query(UPSERT_AGENTS, [ids, agents.map((agent) => JSON.stringify(agent))]);
      await client.query('select pg_advisory_xact_lock($1)', [TOOLS_LOCK]);
      await client.query(APPLY_TOOLS, [tools.map(({ id }) => id), tools.map((tool) => JSON.stringify(tool))]);
      return true;
    });
  }

  override change(decide: (agents: readonly StoredAgent[]) => AgentEdit): Promise<StoredAgent> {
    return this.alone(async (client) => {
      const { rows } = await client.query<AgentRow>(ALL);
      return write(client, decide(rows.map(decodeAgent)));
    });
  }

  override async activeTasks(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.database.query<{ agent_id: string; tasks: number }>(ACTIVE_TASKS, []);
    return new Map(rows.map((row) => [row.agent_id, row.tasks] as const));
  }

  override async backendVersion(backend: Omit<BackendVersion, 'id'>): Promise<BackendVersion> {
    const { agentId, runner, pool } = backend;
    const options = JSON.stringify(backend.options);
    const policy = JSON.stringify(backend.policy);
    const content = JSON.stringify([agentId, runner, pool, options, policy]);
    const id = `bv_${createHash('sha256').update(content).digest('hex').slice(0, 32)}`;
    await this.database.query(STORE_VERSION, [id, agentId, runner, pool, options, policy]);
    return { id, agentId, runner, pool, options: backend.options, policy: JSON.parse(policy) as RunPolicy };
  }

  /** In one transaction, while nobody else changes agents. */
  private alone<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    return this.database.transaction(async (client) => {
      await client.query('select pg_advisory_xact_lock($1)', [LOCK_KEY]);
      return work(client);
    });
  }
}

interface AgentRow {
  readonly id: string;
  readonly declaration: string;
  readonly version: number;
  readonly updated_at: Date;
}

function decodeAgent(row: AgentRow): StoredAgent {
  const source = JSON.parse(row.declaration) as StoredAgent['source'];
  return { id: row.id, source, version: row.version, updatedAtMs: row.updated_at.getTime() };
}

async function write(client: pg.PoolClient, { id, source, replaces, audit }: AgentEdit): Promise<StoredAgent> {
  const values = [id, JSON.stringify(source), replaces ?? null, ...auditValues(audit)];
  const { rows } = await client.query<Pick<AgentRow, 'version' | 'updated_at'>>(WRITE, values);
  const [row] = rows;
  if (!row) throw new Error('an agent changed while nobody could change it');
  return { id, source, version: row.version, updatedAtMs: row.updated_at.getTime() };
}

const LOCK_KEY = 7_305_810_002;

const ALL: Statement = { name: 'agent-store.all', text: 'select * from agents order by id' };

const LATEST_FILE = 'select digest from agents_file order by applied_at desc limit 1';

const STORE_VERSION: Statement = {
  name: 'agent-store.store-version',
  text: `
insert into backend_versions (id, agent_id, runner, pool, options, policy, created_at)
values ($1, $2, $3, $4, $5, $6, clock_timestamp()) on conflict do nothing`,
};

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

const ACTIVE_TASKS: Statement = {
  name: 'agent-store.active-tasks',
  text: 'select agent_id, count(*)::int as tasks from tasks where finished_at is null group by agent_id',
};
