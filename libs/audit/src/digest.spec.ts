import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { AUDIT_FIELDS, type AuditRecord } from '#lib/domain';
import { alteredFields, DIGEST_BYTES, digestRecord, isDigestOf, leafHash } from './digest.js';

const RECORD: AuditRecord = {
  id: '0198f1c2-0000-7000-8000-000000000001',
  at: '2026-01-02T03:04:05.678901Z',
  xid: '4711',
  tenant: 'acme',
  principal: 'ann',
  key_id: 'k1',
  action: 'task.submit',
  target: 't-1 ✓',
  outcome: 'allowed',
  details: '{"agent_id":"a"}',
  request_id: 'r-1',
};
const sha = (text: string): Buffer => createHash('sha256').update(text).digest();

describe('a digest', () => {
  it('is of the documented form', () => {
    const text =
      '["7","0198f1c2-0000-7000-8000-000000000001","2026-01-02T03:04:05.678901Z","4711","acme","ann","k1",' +
      '"task.submit","t-1 ✓","allowed","{\\"agent_id\\":\\"a\\"}","r-1"]';
    const checks = AUDIT_FIELDS.map((field) => sha(RECORD[field]).subarray(0, 8));
    const digest = Buffer.concat([sha(text), ...checks]);
    expect(digestRecord(RECORD, 7)).toEqual(digest);
    expect(digest).toHaveLength(DIGEST_BYTES);
    expect(leafHash(digest)).toEqual(
      createHash('sha256')
        .update(Buffer.concat([Buffer.of(0), digest]))
        .digest(),
    );
  });

  it.each(AUDIT_FIELDS)('tells that %s was altered', (field) => {
    const digest = digestRecord(RECORD, 7);
    const altered = { ...RECORD, [field]: `${RECORD[field]} ` };
    expect([isDigestOf(digest, altered, 7), alteredFields(digest, altered)]).toEqual([false, [field]]);
  });

  it('tells that a record was moved: no column of it was altered, and yet it is another', () => {
    const digest = digestRecord(RECORD, 7);
    expect([isDigestOf(digest, RECORD, 8), isDigestOf(digest, RECORD, 7), alteredFields(digest, RECORD)]).toEqual([
      false,
      true,
      [],
    ]);
  });
});
