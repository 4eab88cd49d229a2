import { AuditLedger, type DueRecords, type Seal, type SealSession, type StoredHead } from '#lib/domain';
import type { PoolClient, QueryResultRow } from 'pg';
import type { Database, Statement } from '../database.js';
import {
  decodeHead,
  HEAD_COLUMNS,
  type HeadRow,
  type Query,
  RECORD_TEXTS,
  type RecordRow,
  timeText,
  treeOver,
} from './audit.rows.js';

const LOCK_KEY = 7_305_810_003;

/** The sealed audit trail in Postgres, over connections of the role that may write it. */
export class PgAuditLedger extends AuditLedger {
  constructor(private readonly database: Database) {
    super();
  }

  override async seal<T>(work: (session: SealSession) => Promise<T>): Promise<T | undefined> {
    const [pending] = await this.database.query<{ is_due: boolean }>(IS_DUE, []);
    if (pending?.is_due !== true) return undefined;
    return this.database.transaction(async (client) => {
      const query = over(client);
      const [lock] = await query<{ is_ours: boolean }>(LOCK, [LOCK_KEY]);
      return lock?.is_ours === true ? work(sessionOver(query)) : undefined;
    });
  }

  override async lagSeconds(): Promise<number> {
    const [row] = await this.database.query<{ lag: number }>(LAG, []);
    return row?.lag ?? 0;
  }

  override async headsAfter(no: number, limit: number): Promise<readonly StoredHead[]> {
    return (await this.database.query<HeadRow>(HEADS_AFTER, [no, limit])).map(decodeHead);
  }

  override async exported(sink: string): Promise<number> {
    const [row] = await this.database.query<{ head_no: number }>(EXPORTED, [sink]);
    return row?.head_no ?? 0;
  }

  override async setExported(sink: string, no: number): Promise<void> {
    await this.database.query(SET_EXPORTED, [sink, no]);
  }
}

function over(client: PoolClient): Query {
  return async <Row extends QueryResultRow>(statement: Statement, values: readonly unknown[]) =>
    (await client.query<Row>({ ...statement, values: values as unknown[] })).rows;
}

interface StateRow extends QueryResultRow {
  readonly log: string;
  readonly size: number;
  readonly old_system: string;
  readonly old_mark: string;
  readonly system: string;
  readonly mark: string;
  readonly at: string;
}

function sessionOver(query: Query): SealSession {
  return {
    tree: treeOver(query),
    due: (limit) => due(query, limit),
    write: (seal) => write(query, seal),
  };
}

/**
 * The mark is taken before the records are read, so each transaction below it is over and all it wrote is seen. In another
 * cluster than the last time, as after a restore, old transaction ids mean nothing: what is left is due, whatever its own.
 */
async function due(query: Query, limit: number): Promise<DueRecords> {
  const [state] = (await query<StateRow>(STATE, [])) as [StateRow];
  const { log, size, at } = state;
  const isMoved = state.system !== state.old_system;
  const rows = await (isMoved
    ? query<RecordRow>(LEFT, [limit + 1])
    : query<RecordRow>(DUE, [limit + 1, state.old_mark, state.mark]));
  const [head] = (await query<HeadRow>(LAST_HEAD, [])).map(decodeHead);
  const records = rows.slice(0, limit);
  const hasMore = rows.length > limit;
  const reached = hasMore ? partly(state, isMoved, records) : { system: state.system, mark: state.mark };
  if (records.length === 0) await query(REACHED, [reached.system, reached.mark]);
  return { log, size, at, head, records, hasMore, ...reached };
}

/** How far sealing has come when the limit cut it short: everything below the last record's transaction is done. */
function partly(
  { old_system, old_mark }: StateRow,
  isMoved: boolean,
  records: DueRecords['records'],
): Pick<DueRecords, 'system' | 'mark'> {
  return { system: old_system, mark: isMoved ? old_mark : (records.at(-1)?.xid ?? old_mark) };
}

async function write(query: Query, { due: { size, records }, digests, nodes, head, publicKey }: Seal): Promise<void> {
  const written = await query(WRITE, [
    size,
    records.map(({ id }) => id),
    records.map(({ tenant }) => tenant),
    Buffer.concat(digests),
    digests[0]?.length ?? 1,
    nodes.map(({ level }) => level),
    nodes.map(({ no }) => no),
    nodes.map(({ hash }) => Buffer.from(hash).toString('hex')),
    head.size,
    head.root,
    head.system,
    head.mark,
    head.at,
    head.kid,
    head.signature,
    publicKey ?? null,
  ]);
  if (written.length !== 1) throw new Error('audit records were sealed while nobody else could');
}

const SYSTEM = '(select system_identifier::text as system from pg_control_system()) as c';
const XMIN = 'pg_snapshot_xmin(pg_current_snapshot())';

/** Cheap enough to be asked twice a second by every gateway. */
const IS_DUE: Statement = {
  name: 'audit-ledger.is-due',
  text: `select s.system <> c.system or exists (select from audit_records r where r.xid >= s.mark and r.xid < ${XMIN}) as is_due
from audit_state s, ${SYSTEM}`,
};

const LOCK: Statement = { name: 'audit-ledger.lock', text: 'select pg_try_advisory_xact_lock($1) as is_ours' };

const STATE: Statement = {
  name: 'audit-ledger.state',
  text: `select s.log::text, s.size::float8, s.system as old_system, s.mark::text as old_mark, c.system, ${XMIN}::text as mark,
  ${timeText('clock_timestamp()')} as at from audit_state s, ${SYSTEM}`,
};

const UNSEALED = 'not exists (select from audit_leaf l where l.record_id = r.id)';

const DUE: Statement = {
  name: 'audit-ledger.due',
  text: `select ${RECORD_TEXTS} from audit_records r where r.xid >= $2::text::xid8 and r.xid < $3::text::xid8 and ${UNSEALED}
order by r.xid, r.at, r.id limit $1`,
};

const LEFT: Statement = {
  name: 'audit-ledger.left',
  text: `select ${RECORD_TEXTS} from audit_records r where ${UNSEALED} order by r.xid, r.at, r.id limit $1`,
};

const LAST_HEAD: Statement = {
  name: 'audit-ledger.last-head',
  text: `select ${HEAD_COLUMNS} from audit_heads h order by h.no desc limit 1`,
};

const REACHED: Statement = {
  name: 'audit-ledger.reached',
  text: 'update audit_state set system = $1, mark = $2::text::xid8',
};

/** Digests come as one text of bytes, each of the length $5. */
const WRITE: Statement = {
  name: 'audit-ledger.write',
  text: `
with moved as (
  update audit_state set size = $9, system = $11, mark = $12::text::xid8 where size = $1 returning log
),
leaves as (
  insert into audit_leaf (leaf_no, record_id, tenant, digest)
  select $1::bigint + place - 1, id, tenant, substring($4::bytea from ((place - 1) * $5::int + 1)::int for $5::int)
  from moved, unnest($2::uuid[], $3::text[]) with ordinality as l(id, tenant, place)
),
nodes as (
  insert into audit_nodes (level, no, hash)
  select level, no, decode(hash, 'hex') from moved, unnest($6::int[], $7::bigint[], $8::text[]) as n(level, no, hash)
),
keys as (
  insert into audit_keys (kid, public_key) select $14::text, $16::text from moved where $16::text is not null on conflict do nothing
)
insert into audit_heads (log, size, root, system, mark, at, kid, signature)
select log, $9::bigint, decode($10, 'hex'), $11, $12::text::xid8, $13::timestamptz, $14, decode($15, 'base64') from moved returning no`,
};

const LAG: Statement = {
  name: 'audit-ledger.lag',
  text: `select coalesce(extract(epoch from clock_timestamp() - min(r.at)), 0)::float8 as lag
from audit_state s, audit_records r where r.xid >= s.mark and ${UNSEALED}`,
};

const HEADS_AFTER: Statement = {
  name: 'audit-ledger.heads-after',
  text: `select ${HEAD_COLUMNS} from audit_heads h where h.no > $1 order by h.no limit $2`,
};

const EXPORTED: Statement = {
  name: 'audit-ledger.exported',
  text: 'select head_no::float8 from audit_exports where sink = $1',
};

const SET_EXPORTED: Statement = {
  name: 'audit-ledger.set-exported',
  text: `insert into audit_exports as e (sink, head_no, at) values ($1, $2, clock_timestamp())
on conflict (sink) do update set head_no = excluded.head_no, at = excluded.at where e.head_no < excluded.head_no`,
};
