import { stringify } from 'csv-stringify/sync';
import { AUDIT_FIELDS, type AuditFilter, type Page, type PlacedRecord } from '#lib/domain';
import type { AuditProof } from '../core/audit.service.js';
import { decodeMoment } from '../http/times.js';
import type { AuditProofAnswer, AuditRecordAnswer, AuditRecordsAnswer } from './audit.answers.js';
import type { AuditFilterQuery } from './audit.dto.js';

export function decodeFilter(query: AuditFilterQuery): AuditFilter {
  const { tenant, principal, key_id: keyId, action, target, outcome, after, before } = query;
  const given = {
    tenant,
    principal,
    keyId,
    action,
    target,
    outcome,
    after: decodeMoment(after, 'query.after')?.text,
    before: decodeMoment(before, 'query.before')?.text,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

export function encodeRecords({ items, nextCursor }: Page<PlacedRecord>): AuditRecordsAnswer {
  return { records: items.map(encodeRecord), next_cursor: nextCursor ?? null };
}

function encodeRecord({ record, leaf }: PlacedRecord): AuditRecordAnswer {
  const { xid: _, details, ...rest } = record;
  return { ...rest, details: readable(details), leaf };
}

/** A record that somebody has spoilt is shown as it is: it must not keep the others from being read. */
function readable(details: string): unknown {
  try {
    return JSON.parse(details);
  } catch {
    return details;
  }
}

export function encodeProof({ placed, leafHash, head, proof }: AuditProof): AuditProofAnswer {
  const { record, leaf, digest } = placed;
  return {
    record,
    leaf: leaf ?? 0,
    digest: Buffer.from(digest ?? []).toString('base64'),
    leaf_hash: hex(leafHash),
    proof: proof.map(hex),
    head,
  };
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** A line of an export, as far as both forms look at it. */
interface Line {
  readonly type: string;
}
interface RecordLine extends Line {
  readonly type: 'record';
  readonly leaf: number;
  readonly record: Readonly<Record<string, string>>;
  readonly digest: string;
}

/** One JSON object a line. */
export async function* encodeJsonl(pages: AsyncIterable<readonly Line[]>): AsyncIterable<string> {
  for await (const page of pages) {
    if (page.length > 0) yield page.map((line) => `${JSON.stringify(line)}\n`).join('');
  }
}

/** RFC 4180, records only. What a spreadsheet would take for a formula gets an apostrophe in front. */
export async function* encodeCsv(pages: AsyncIterable<readonly Line[]>): AsyncIterable<string> {
  yield csv([['leaf', ...AUDIT_FIELDS, 'digest']]);
  for await (const page of pages) {
    const rows = page
      .filter(isRecord)
      .map(({ leaf, record, digest }) => [String(leaf), ...AUDIT_FIELDS.map((field) => record[field] ?? ''), digest]);
    if (rows.length > 0) yield csv(rows);
  }
}

function csv(rows: readonly (readonly string[])[]): string {
  return stringify(rows as string[][], { record_delimiter: '\r\n', escape_formulas: true });
}

function isRecord(line: Line): line is RecordLine {
  return line.type === 'record';
}
