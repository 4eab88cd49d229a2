import { hash } from 'node:crypto';
import { AUDIT_FIELDS, type AuditField, type AuditRecord } from '#lib/domain';

/** Bytes of a SHA-256. */
const HASH_BYTES = 32;
/** Bytes kept of the SHA-256 of one column. */
const CHECK_BYTES = 8;
/** Bytes of a digest: the hash of the whole record, then a check per column. */
export const DIGEST_BYTES = HASH_BYTES + AUDIT_FIELDS.length * CHECK_BYTES;

/** Columns whose values come again and again are hashed once for each value, within bounds. */
const RECURRING: ReadonlySet<AuditField> = new Set([
  'xid',
  'tenant',
  'principal',
  'key_id',
  'action',
  'outcome',
  'details',
]);
const KNOWN_MAX = 10_000;
const KNOWN_LENGTH = 256;
const known = new Map<string, string>();

/**
 * What is sealed of a record: 32 bytes SHA-256 of its canonical text, then for each column the first 8 bytes of the SHA-256
 * of its text. The whole is what the leaf hash covers, so the checks are as trustworthy as the rest and tell which
 * column was altered. The canonical text holds the leaf's number, so a record that was moved is known as well.
 */
export function digestRecord(record: AuditRecord, leafNo: number): Buffer {
  let hex = hexOf(textOf(record, leafNo));
  for (const field of AUDIT_FIELDS) hex += checkOf(record[field], field);
  return Buffer.from(hex, 'hex');
}

/** SHA-256 of the canonical text: a JSON array of strings, the number of the leaf in decimal, then the columns in order. */
export function recordHash(record: AuditRecord, leafNo: number): Buffer {
  return sha256(textOf(record, leafNo));
}

function textOf(record: AuditRecord, leafNo: number): string {
  return JSON.stringify([String(leafNo), ...AUDIT_FIELDS.map((field) => record[field])]);
}

/** True when the digest is of this record at this leaf. */
export function isDigestOf(digest: Uint8Array, record: AuditRecord, leafNo: number): boolean {
  return recordHash(record, leafNo).equals(digest.subarray(0, HASH_BYTES));
}

/** The columns whose text is not what the digest was made of. */
export function alteredFields(digest: Uint8Array, record: AuditRecord): readonly AuditField[] {
  return AUDIT_FIELDS.filter((field) => !hasField(digest, field, record[field]));
}

/** True when the digest is of a record with this text in this column. */
export function hasField(digest: Uint8Array, field: AuditField, text: string): boolean {
  const start = HASH_BYTES + AUDIT_FIELDS.indexOf(field) * CHECK_BYTES;
  return checkOf(text, field) === Buffer.from(digest.subarray(start, start + CHECK_BYTES)).toString('hex');
}

/** Leaf hash of RFC 9162 section 2.1.1: SHA-256 of 0x00 and the digest. */
export function leafHash(digest: Uint8Array): Buffer {
  return sha256(Buffer.concat([LEAF, digest]));
}

/** Node hash of RFC 9162 section 2.1.1: SHA-256 of 0x01 and both children. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  return sha256(Buffer.concat([NODE, left, right]));
}

/** Root of a tree without leaves: SHA-256 of nothing. */
export const EMPTY_ROOT = sha256('');

/** In hex. */
function checkOf(text: string, field: AuditField): string {
  if (!RECURRING.has(field) || text.length > KNOWN_LENGTH) return check(text);
  let found = known.get(text);
  if (found === undefined) {
    found = check(text);
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(text, found);
  }
  return found;
}

function check(text: string): string {
  return hexOf(text).slice(0, 2 * CHECK_BYTES);
}

/** By way of hex: a buffer of Node's costs several times the hash that is in it. */
function sha256(data: string | Uint8Array): Buffer {
  return Buffer.from(hexOf(data), 'hex');
}

function hexOf(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}

const LEAF = Buffer.of(0);
const NODE = Buffer.of(1);
