import { createHash } from 'node:crypto';

const SHA256 = /^[0-9a-f]{64}$/;

/** True for a name that a blob can have. */
export function isBlobName(sha256: string): boolean {
  return SHA256.test(sha256);
}

/**
 * Where a blob lives, in parts: a hash of its tenant, two digits, its SHA-256. Nothing a caller names becomes part of it,
 * and bytes of one tenant are never found by another.
 */
export function blobPlace(tenant: string, sha256: string): readonly [string, string, string] {
  const owner = createHash('sha256').update(tenant).digest('hex').slice(0, 32);
  return [owner, sha256.slice(0, 2), sha256];
}
