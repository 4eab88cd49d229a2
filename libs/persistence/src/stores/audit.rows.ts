import { AUDIT_FIELDS, type AuditPruning, type AuditRecord, type StoredHead, type TreeSource } from '#lib/domain';
import type pg from 'pg';
import type { Statement } from '../database.js';

/** Microseconds, in UTC: what is hashed is the database's precision. */
const TIME = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

export function timeText(expression: string): string {
  return `to_char(${expression} at time zone 'UTC', ${TIME})`;
}

/** The columns of a record of `r` as text. */
export const RECORD_TEXTS = `r.id::text, ${timeText('r.at')} as at, r.xid::text, r.tenant, r.principal, r.key_id, r.action,
  r.target, r.outcome, r.details, r.request_id`;

export const HEAD_COLUMNS = `h.no::float8, h.log::text, h.size::float8, encode(h.root, 'hex') as root, h.system, h.mark::text,
  ${timeText('h.at')} as at, h.kid, encode(h.signature, 'base64') as signature`;

export const PRUNING_COLUMNS = `p.log::text, p.tenant, p.size::float8, encode(p.root, 'hex') as root, ${timeText('p.sealed_at')} as sealed_at,
  p.days, ${timeText('p.at')} as at, p.kid, encode(p.signature, 'base64') as signature`;

export type RecordRow = AuditRecord & pg.QueryResultRow;
export type HeadRow = StoredHead & pg.QueryResultRow;

/** Its columns only, in their order. */
export function decodeRecord(row: RecordRow): AuditRecord {
  return Object.fromEntries(AUDIT_FIELDS.map((field) => [field, row[field]])) as unknown as AuditRecord;
}

export function decodeHead(row: HeadRow): StoredHead {
  const { no, log, size, root, system, mark, at, kid, signature } = row;
  return { no, log, size, root, system, mark, at, kid, signature: oneLine(signature) };
}

/** Base64 of PostgreSQL breaks its lines. */
function oneLine(base64: string | null): string | null {
  return base64?.replaceAll('\n', '') ?? null;
}

export type PruningRow = Omit<AuditPruning, 'sealedAt'> & { readonly sealed_at: string } & pg.QueryResultRow;

export function decodePruning(row: PruningRow): AuditPruning {
  const { log, tenant, size, root, sealed_at: sealedAt, days, at, kid, signature } = row;
  return { log, tenant, size, root, sealedAt, days, at, kid, signature: oneLine(signature) };
}

const DIGESTS: Statement = {
  name: 'audit-tree.digests',
  text: 'select digest from audit_leaf where leaf_no >= $1 and leaf_no < $2 order by leaf_no',
};
const NODES: Statement = {
  name: 'audit-tree.nodes',
  text: 'select hash from audit_nodes where level = $1 and no >= $2 and no < $3 order by no',
};

/** Runs a named statement: a pool, or the connection of a transaction. */
export type Query = <Row extends pg.QueryResultRow>(statement: Statement, values: readonly unknown[]) => Promise<Row[]>;

/** The kept hashes of the tree. */
export function treeOver(query: Query): TreeSource {
  return {
    digests: async (from, to) => (await query<{ digest: Buffer }>(DIGESTS, [from, to])).map(({ digest }) => digest),
    nodes: async (level, from, to) => (await query<{ hash: Buffer }>(NODES, [level, from, to])).map(({ hash }) => hash),
  };
}
