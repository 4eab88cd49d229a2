import { hash } from 'node:crypto';
import { AUDIT_FIELDS, type AuditField, type AuditRecord } from '#lib/domain';

/** Bytes of a SHA-256. */
const HASH_BYTES = 32;
/** Bytes kept of the SHA-256 of one column. */
const CHECK_BYTES = 8;
/** Bytes of a digest: the hash of the whole record, then a check per column. */
export const DIGEST_BYTES = HASH_BYTES + AUDIT_FIELDS.length * CHECK_BYTES;

/** Values that come again and again, such as tenants and actions, are hashed once. */
const KNOWN_MAX = 10_000;
const KNOWN_LENGTH = 64;
const known = new Map<string, Buffer>();

/**
 * What is sealed of a record: 32 bytes SHA-256 of its canonical text, then for each column the first 8 bytes of the SHA-256
 * of its text. The whole is what the leaf hash covers, so the checks are as trustworthy as the rest and tell which
 * column was altered. The canonical text holds the leaf's number, so a record that was moved is known as well.
 */
export function digestRecord(record: AuditRecord, leafNo: number): Buffer {
  const checks = AUDIT_FIELDS.map((field) => checkOf(record[field], field));
  return Buffer.concat([recordHash(record, leafNo), ...checks], DIGEST_BYTES);
}

/** SHA-256 of the canonical text: a JSON array of strings, the number of the leaf in decimal, then the columns in order. */
export function recordHash(record: AuditRecord, leafNo: number): Buffer {
  return sha256(JSON.stringify([String(leafNo), ...AUDIT_FIELDS.map((field) => record[field])]));
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
  return checkOf(text, field).equals(digest.subarray(start, start + CHECK_BYTES));
}

/** Leaf hash of RFC 9162 section 2.1.1: SHA-256 of 0x00 and the digest. */
export function leafHash(digest: Uint8Array): Buffer {
  return hash('sha256', Buffer.concat([LEAF, digest]), 'buffer');
}

/** Node hash of RFC 9162 section 2.1.1: SHA-256 of 0x01 and both children. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  return hash('sha256', Buffer.concat([NODE, left, right]), 'buffer');
}

/** Root of a tree without leaves: SHA-256 of nothing. */
export const EMPTY_ROOT = sha256('');

function checkOf(text: string, field: AuditField): Buffer {
  if (field === 'id' || field === 'at' || field === 'request_id' || text.length > KNOWN_LENGTH) return check(text);
  let found = known.get(text);
  if (!found) {
    found = check(text);
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(text, found);
  }
  return found;
}

function check(text: string): Buffer {
  return sha256(text).subarray(0, CHECK_BYTES);
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

const LEAF = Buffer.of(0);
const NODE = Buffer.of(1);
