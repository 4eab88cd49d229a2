import type { AuditEntry, AuditRecord } from '#lib/domain';
import { newEventId } from '#lib/platform';
import { uuidOf } from './event-id.js';

/** A row of audit_records as it is written; time and transaction are the database's. */
export type AuditRow = Omit<AuditRecord, 'at' | 'xid'>;

/** In the order of the columns. */
const TYPES: Readonly<Record<keyof AuditRow, string>> = {
  id: 'uuid',
  tenant: 'text',
  principal: 'text',
  key_id: 'text',
  action: 'text',
  target: 'text',
  outcome: 'text',
  details: 'text',
  request_id: 'text',
};
const COLUMNS = Object.keys(TYPES) as (keyof AuditRow)[];

/** The same columns, as the definition of a record that comes as JSON. */
export const AUDIT_RECORD = COLUMNS.map((column) => `${column} ${TYPES[column]}`).join(', ');

/** Where the values of a record come from, when they are not columns of the same names. */
export type AuditSources = Partial<Record<keyof AuditRow, string>>;

/** Inserts a record per row of `from`, which has the columns of one unless `sources` say otherwise. */
export function insertAudit(from: string, sources: AuditSources = {}): string {
  const values = COLUMNS.map((column) => sources[column] ?? column);
  return `insert into audit_records (${COLUMNS.join(', ')})\n  select ${values.join(', ')} from ${from}`;
}

/**
 * Inserts a record for each row of `from`, whose values are the parameters from `$first` on: those of `auditValues`, unless
 * `sources` say otherwise.
 */
export function insertAuditValues(first: number, from = '(select) as once', sources: AuditSources = {}): string {
  const values = COLUMNS.map((column, index) => [column, `$${first + index}::${TYPES[column]}`] as const);
  return insertAudit(from, { ...Object.fromEntries(values), ...sources });
}

/** What a record of this entry is written with. */
export function auditRow({ keyId, requestId, ...entry }: AuditEntry): AuditRow {
  return { id: uuidOf(newEventId()), ...entry, key_id: keyId, request_id: requestId };
}

/** The parameters of `insertAuditValues`. */
export function auditValues(entry: AuditEntry): string[] {
  const row = auditRow(entry);
  return COLUMNS.map((column) => row[column]);
}
