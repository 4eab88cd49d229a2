import {
  type AuditFilter,
  type AuditPruning,
  AuditReader,
  type AuditRecord,
  type Page,
  type PageRequest,
  type PlacedRecord,
  type SealedLeaf,
  type StoredHead,
  type TreeSource,
} from '#lib/domain';
import type { QueryResultRow } from 'pg';
import type { Database, Statement } from '../database.js';
import {
  decodeHead,
  decodePruning,
  decodeRecord,
  HEAD_COLUMNS,
  type HeadRow,
  PRUNING_COLUMNS,
  type PruningRow,
  RECORD_TEXTS,
  type RecordRow,
  treeOver,
} from './audit.rows.js';
import { cut, decodeCursor } from './page.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The audit trail in Postgres, for those who read it. */
export class PgAuditReader extends AuditReader {
  override readonly tree: TreeSource;

  constructor(private readonly database: Database) {
    super();
    this.tree = treeOver((statement, values) => database.query(statement, values));
  }

  override async search(filter: AuditFilter, page: PageRequest): Promise<Page<PlacedRecord>> {
    const before = decodeCursor(page, UUID) ?? null;
    const query = conditions(filter, [before, page.limit + 1]);
    const text = `select ${RECORD_TEXTS}, l.leaf_no::float8, l.digest from audit_records r left join audit_leaf l on l.record_id = r.id
where ($1::uuid is null or r.id < $1)${query.text} order by r.id desc limit $2`;
    const rows = await this.database.query<PlacedRow>(
      { name: `audit-reader.search ${query.name}`, text },
      query.values,
    );
    return cut(rows.map(decodePlaced), page, ({ record }) => record.id);
  }

  override async find(tenant: string | undefined, id: string): Promise<PlacedRecord | undefined> {
    if (!UUID.test(id)) return undefined;
    const [row] = await this.database.query<PlacedRow>(FIND, [id, tenant ?? null]);
    return row && decodePlaced(row);
  }

  override async leaves(filter: AuditFilter, from: number, to: number): Promise<readonly SealedLeaf[]> {
    const { tenant, ...rest } = filter;
    const query = conditions(rest, [from, to, tenant ?? null]);
    const text = `select l.leaf_no::float8, l.record_id::text, l.digest, ${RECORD_TEXTS}
from audit_leaf l left join audit_records r on r.id = l.record_id
where l.leaf_no >= $1 and l.leaf_no < $2 and ($3::text is null or l.tenant = $3)${query.text} order by l.leaf_no`;
    const rows = await this.database.query<LeafRow>({ name: `audit-reader.leaves ${query.name}`, text }, query.values);
    return rows.map(decodeLeaf);
  }

  override async unsealed(
    filter: AuditFilter,
    afterId: string,
    limit: number,
  ): Promise<{ readonly records: readonly AuditRecord[]; readonly lastId?: string }> {
    const query = conditions(filter, [afterId, limit]);
    const text = `with page as materialized (
  select r.* from audit_records r where r.id > $1${query.text} order by r.id limit $2
)
select ${RECORD_TEXTS}, l.record_id is null as is_unsealed from page r left join audit_leaf l on l.record_id = r.id
where l.record_id is null or r.id = (select id from page order by id desc limit 1) order by r.id`;
    const statement = { name: `audit-reader.unsealed ${query.name}`, text };
    const rows = await this.database.query<RecordRow & { is_unsealed: boolean }>(statement, query.values);
    const lastId = rows.at(-1)?.id;
    const records = rows.filter((row) => row.is_unsealed).map(decodeRecord);
    return { records, ...(lastId !== undefined && { lastId }) };
  }

  override async head(size?: number): Promise<StoredHead | undefined> {
    const [row] = await this.database.query<HeadRow>(HEAD, [size ?? null]);
    return row && decodeHead(row);
  }

  override async headsAfter(no: number, limit: number): Promise<readonly StoredHead[]> {
    return (await this.database.query<HeadRow>(HEADS_AFTER, [no, limit])).map(decodeHead);
  }

  override async headsBetween(from: number, to: number): Promise<readonly StoredHead[]> {
    return (await this.database.query<HeadRow>(HEADS_BETWEEN, [from, to])).map(decodeHead);
  }

  override async keys(): Promise<readonly { readonly kid: string; readonly publicKey: string }[]> {
    const rows = await this.database.query<{ kid: string; public_key: string }>(KEYS, []);
    return rows.map(({ kid, public_key: publicKey }) => ({ kid, publicKey }));
  }

  override async prunings(tenant?: string): Promise<readonly AuditPruning[]> {
    const rows = await this.database.query<PruningRow>(PRUNINGS, [tenant ?? null]);
    return rows.map(decodePruning);
  }

  override async firstLeaf(): Promise<number> {
    const [row] = await this.database.query<{ first: number }>(FIRST, []);
    return row?.first ?? 0;
  }
}

interface Conditions {
  /** Which are given: one statement is prepared for each combination that occurs. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

type Condition = (place: string) => string;

/** By the names of the filter; ids begin with the clock of who made them, an hour is more than clocks differ by. */
const CONDITIONS: Readonly<Record<keyof AuditFilter, Condition>> = {
  tenant: (p) => `r.tenant = ${p}`,
  principal: (p) => `r.principal = ${p}`,
  keyId: (p) => `r.key_id = ${p}`,
  action: (p) => `r.action = ${p}`,
  target: (p) => `r.target = ${p}`,
  outcome: (p) => `r.outcome = ${p}`,
  after: (p) =>
    `r.at > ${p}::timestamptz and r.id >= partition_bound(greatest(${p}::timestamptz - interval '1 hour', 'epoch'))`,
  before: (p) =>
    `r.at < ${p}::timestamptz and r.id < partition_bound(greatest(${p}::timestamptz + interval '1 hour', 'epoch'))`,
};

const NAMES = Object.keys(CONDITIONS) as (keyof AuditFilter)[];

function conditions(filter: AuditFilter, first: readonly unknown[]): Conditions {
  const given = NAMES.filter((name) => filter[name] !== undefined);
  const texts = given.map((name, index) => ` and ${CONDITIONS[name](`$${first.length + index + 1}`)}`);
  // Postgres tells prepared statements apart by 63 characters.
  const name = given.map((condition) => NAMES.indexOf(condition)).join('.');
  return { name, text: texts.join(''), values: [...first, ...given.map((name) => filter[name])] };
}

type PlacedRow = RecordRow & { readonly leaf_no: number | null; readonly digest: Buffer | null };

function decodePlaced(row: PlacedRow): PlacedRecord {
  return { record: decodeRecord(row), leaf: row.leaf_no, digest: row.digest };
}

interface LeafRow extends QueryResultRow {
  readonly leaf_no: number;
  readonly record_id: string;
  readonly digest: Buffer;
  readonly id: string | null;
}

function decodeLeaf(row: LeafRow): SealedLeaf {
  const record = row.id === null ? null : decodeRecord(row as unknown as RecordRow);
  return { leaf: row.leaf_no, recordId: row.record_id, digest: row.digest, record };
}

const FIND: Statement = {
  name: 'audit-reader.find',
  text: `select ${RECORD_TEXTS}, l.leaf_no::float8, l.digest from audit_records r left join audit_leaf l on l.record_id = r.id
where r.id = $1::uuid and ($2::text is null or r.tenant = $2)`,
};

const HEAD: Statement = {
  name: 'audit-reader.head',
  text: `select ${HEAD_COLUMNS} from audit_heads h where $1::bigint is null or h.size <= $1 order by h.size desc, h.no desc limit 1`,
};

const HEADS_AFTER: Statement = {
  name: 'audit-reader.heads-after',
  text: `select ${HEAD_COLUMNS} from audit_heads h where h.no > $1 order by h.no limit $2`,
};

const HEADS_BETWEEN: Statement = {
  name: 'audit-reader.heads-between',
  text: `select ${HEAD_COLUMNS} from audit_heads h where h.size > $1 and h.size <= $2 order by h.size, h.no`,
};

const KEYS: Statement = {
  name: 'audit-reader.keys',
  text: 'select kid, public_key from audit_keys order by first_used_at, kid',
};

const PRUNINGS: Statement = {
  name: 'audit-reader.prunings',
  text: `select ${PRUNING_COLUMNS} from audit_prunings p where $1::text is null or p.tenant is null or p.tenant = $1
order by p.tenant nulls first`,
};

const FIRST: Statement = { name: 'audit-reader.first', text: 'select min(leaf_no)::float8 as first from audit_leaf' };
