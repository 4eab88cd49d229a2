import {
  type ListedTool,
  type Observation,
  type StoredTool,
  type ToolEdit,
  type ToolOffer,
  type ToolOrigin,
  type ToolState,
  ToolStore,
} from '#lib/domain';
import type pg from 'pg';
import type { Database } from '../database.js';
import { auditValues, insertAuditValues } from './audit.columns.js';

/** Held while declarations or what is known of offered tools change; whoever applies a file has locked the agents before. */
export const TOOLS_LOCK = 7_305_810_015;
/** Tools of one server that are kept: a server that renames them without end must not fill the table. */
const MAX_OFFERS = 512;

/** Declared tools in Postgres. */
export class PgToolStore extends ToolStore {
  constructor(private readonly database: Database) {
    super();
  }

  override async load(knownRevision: string | undefined): Promise<ToolState | undefined> {
    const [row] = await this.database.query<{ revision: string }>(REVISION, []);
    const revision = row?.revision ?? '';
    if (revision === knownRevision) return undefined;
    // Read after the revision: what changes in between is read now and once more.
    const tools = (await this.database.query<ToolRow>(TOOLS, [])).map(toolOf);
    const offers = (await this.database.query<OfferRow>(OFFERS, [])).map(offerOf);
    return { revision, tools, offers };
  }

  override change(decide: (tools: readonly StoredTool[]) => ToolEdit): Promise<StoredTool | undefined> {
    return this.alone(async (client) => {
      const { rows } = await client.query<ToolRow>(TOOLS.text);
      const edit = decide(rows.map(toolOf));
      await record(client, edit.audit);
      if (edit.source === undefined) {
        await client.query(REMOVE, [edit.id, edit.replaces]);
        return undefined;
      }
      const written = await client.query<ToolRow>(WRITE, [edit.id, JSON.stringify(edit.source)]);
      return toolOf(written.rows[0]!);
    });
  }

  override observe({ serverId, version, listed, trustNew, audit }: Observation): Promise<boolean> {
    return this.alone(async (client) => {
      const { rowCount } = await client.query('select from tools where id = $1 and version = $2', [serverId, version]);
      if (rowCount === 0) return false;
      const { rows } = await client.query<OfferRow>(`${OFFERS_OF} where server_id = $1`, [serverId]);
      const known = new Map(rows.map((row) => [row.name, row]));
      const changes = [...found(listed, known, trustNew), ...withdrawn(listed, rows)].slice(0, MAX_OFFERS);
      for (const { tool, action, isListed, accepts } of changes) {
        if (action === 'tool.offered' && known.size >= MAX_OFFERS) continue;
        known.set(tool.name, known.get(tool.name) ?? ({} as OfferRow));
        await client.query(NOTE, [tool.name, serverId, isListed, JSON.stringify(tool), tool.digest, accepts]);
        const details = JSON.stringify({
          server: serverId,
          tool: tool.remoteName.slice(0, 200),
          digest: tool.digest,
          accepted: accepts,
        });
        await record(client, { ...audit, action, target: tool.name, outcome: 'allowed', details });
      }
      return changes.length > 0;
    });
  }

  override accept(...[name, digest, audit]: Parameters<ToolStore['accept']>): Promise<boolean> {
    return this.alone(async (client) => {
      const { rowCount } = await client.query(ACCEPT, [name, digest]);
      if (rowCount === 0) return false;
      await record(client, audit);
      return true;
    });
  }

  private alone<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    return this.database.transaction(async (client) => {
      await client.query('select pg_advisory_xact_lock($1)', [TOOLS_LOCK]);
      return work(client);
    });
  }
}

interface Change {
  readonly tool: ListedTool;
  readonly action: 'tool.offered' | 'tool.changed' | 'tool.withdrawn';
  readonly isListed: boolean;
  readonly accepts: boolean;
}

/** What is new, has changed, or is back. Only what was never seen before can be accepted without anybody looking. */
function found(listed: readonly ListedTool[], known: ReadonlyMap<string, OfferRow>, trustNew: boolean): Change[] {
  return listed.flatMap((tool): Change[] => {
    const row = known.get(tool.name);
    if (!row) return [{ tool, action: 'tool.offered', isListed: true, accepts: trustNew }];
    if (row.is_listed && row.offered_digest === tool.digest) return [];
    return [{ tool, action: 'tool.changed', isListed: true, accepts: false }];
  });
}

function withdrawn(listed: readonly ListedTool[], rows: readonly OfferRow[]): Change[] {
  const names = new Set(listed.map(({ name }) => name));
  return rows
    .filter((row) => row.is_listed && !names.has(row.name))
    .map((row) => ({
      tool: JSON.parse(row.offered) as ListedTool,
      action: 'tool.withdrawn',
      isListed: false,
      accepts: false,
    }));
}

async function record(client: pg.PoolClient, audit: Parameters<typeof auditValues>[0]): Promise<void> {
  await client.query(insertAuditValues(1), auditValues(audit));
}

interface ToolRow {
  readonly id: string;
  readonly declaration: string;
  readonly origin: ToolOrigin;
  readonly version: number;
  readonly updated_at: Date;
}

interface OfferRow {
  readonly name: string;
  readonly server_id: string;
  readonly is_listed: boolean;
  readonly offered: string;
  readonly offered_digest: string;
  readonly accepted: string | null;
  readonly seen_at: Date;
}

function toolOf({ id, declaration, origin, version, updated_at }: ToolRow): StoredTool {
  const source = JSON.parse(declaration) as StoredTool['source'];
  return { id, source, origin, version, updatedAtMs: updated_at.getTime() };
}

function offerOf({ name, server_id, is_listed, offered, accepted, seen_at }: OfferRow): ToolOffer {
  return {
    serverId: server_id,
    name,
    isListed: is_listed,
    offered: JSON.parse(offered) as ListedTool,
    ...(accepted === null ? {} : { accepted: JSON.parse(accepted) as ListedTool }),
    seenAtMs: seen_at.getTime(),
  };
}

/** Versions only grow, and a row that goes changes a count. */
const REVISION = {
  name: 'tools_revision',
  text: `
select concat_ws(':', (select count(*) from tools), (select max(version) from tools),
  (select count(*) from tool_offers), (select max(version) from tool_offers)) as revision`,
};

const TOOLS = {
  name: 'tools_all',
  text: 'select id, declaration, origin, version, updated_at from tools order by id',
};

const OFFERS_OF = 'select name, server_id, is_listed, offered, offered_digest, accepted, seen_at from tool_offers';
const OFFERS = { name: 'tool_offers_all', text: `${OFFERS_OF} order by name` };

const WRITE = `
insert into tools as t (id, declaration, origin, version, updated_at)
values ($1, $2, 'api', nextval('tool_versions'), clock_timestamp())
on conflict (id) do update set declaration = excluded.declaration, origin = excluded.origin,
  version = excluded.version, updated_at = excluded.updated_at
returning id, declaration, origin, version, updated_at`;

const REMOVE = `
with removed as (delete from tools where id = $1 and version = $2)
delete from tool_offers where server_id = $1`;

const NOTE = `
insert into tool_offers as o (name, server_id, is_listed, offered, offered_digest, accepted, accepted_digest, version, seen_at)
values ($1, $2, $3, $4, $5, case when $6::boolean then $4 end, case when $6::boolean then $5 end, nextval('tool_versions'), clock_timestamp())
on conflict (name) do update set is_listed = excluded.is_listed, offered = excluded.offered,
  offered_digest = excluded.offered_digest, version = excluded.version, seen_at = excluded.seen_at`;

const ACCEPT = `
update tool_offers set accepted = offered, accepted_digest = offered_digest, version = nextval('tool_versions')
where name = $1 and offered_digest = $2 and is_listed`;

/** What a file declares in place of what was declared before; part of the transaction that applies it, under `TOOLS_LOCK`. */
export const APPLY_TOOLS = `
with gone as (delete from tools where id <> all ($1) returning id),
forgotten as (delete from tool_offers o using gone where o.server_id = gone.id)
insert into tools as t (id, declaration, origin, version, updated_at)
select id, declaration, 'file', nextval('tool_versions'), clock_timestamp()
from unnest($1::text[], $2::text[]) as f(id, declaration)
on conflict (id) do update set declaration = excluded.declaration, origin = excluded.origin,
  version = excluded.version, updated_at = excluded.updated_at
where t.declaration <> excluded.declaration or t.origin <> excluded.origin`;
