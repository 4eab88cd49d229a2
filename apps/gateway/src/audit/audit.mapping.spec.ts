import { describe, expect, it } from '@jest/globals';
import type { AuditRecord } from '#lib/domain';
import { encodeRecords } from './audit.mapping.js';

const record = (details: string): AuditRecord => ({
  id: '01a22de2-df30-75d4-ad40-d61bf6d508f8',
  at: '2026-01-01T00:00:00.000001Z',
  xid: '7',
  tenant: 't',
  principal: 'p',
  key_id: 'k',
  action: 'task.submit',
  target: 'x',
  outcome: 'allowed',
  details,
  request_id: 'r',
});

describe('a page of the audit trail', () => {
  it('shows a record whose details were spoilt as they are, and the others as ever', () => {
    const items = ['{"agent_id":"a"}', '{"agent_id":'].map((details, leaf) => ({ record: record(details), leaf }));
    const { records } = encodeRecords({ items } as unknown as Parameters<typeof encodeRecords>[0]);
    expect(records.map(({ details }) => details)).toEqual([{ agent_id: 'a' }, '{"agent_id":']);
  });
});
