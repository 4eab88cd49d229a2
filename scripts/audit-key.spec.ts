import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { HeadSigner, parseHeadKeys } from '#lib/audit';

const { ensureAuditKey } = (await import(path.resolve('scripts/audit-key.mjs'))) as {
  ensureAuditKey(dataDir: string): string;
};

describe('an installation with its own database', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'audit-key-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('has a key of the audit trail that only its user reads, its public half beside it, and keeps it', () => {
    const file = ensureAuditKey(folder);
    const pem = readFileSync(file, 'utf8');
    expect([file, statSync(file).mode & 0o777]).toEqual([path.join(folder, 'audit.key.pem'), 0o600]);
    const [published] = parseHeadKeys(readFileSync(path.join(folder, 'audit.pub.pem'), 'utf8'))!;
    expect(HeadSigner.parse(pem)!.signing.kid).toBe(published!.kid);
    expect([ensureAuditKey(folder), readFileSync(file, 'utf8')]).toEqual([file, pem]);
  });
});
