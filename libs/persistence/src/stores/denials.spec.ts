import { describe, expect, it } from '@jest/globals';
import type { AuditEntry } from '#lib/domain';
import { counted, Denials } from './denials.js';

const attempt = (changes: Partial<AuditEntry> = {}): AuditEntry => ({
  tenant: 'acme',
  principal: 'ann',
  keyId: 'k1',
  action: 'task.read',
  target: 't-1',
  outcome: 'denied',
  details: '{"code":"not_found","path":"/a"}',
  requestId: 'r-1',
  ...changes,
});

describe('denied attempts', () => {
  it('that are equal become one record with their number and times, whatever else they say', () => {
    const denials = new Denials();
    denials.add(attempt(), 1_000);
    denials.add(attempt({ requestId: 'r-2', details: '{"code":"not_found","path":"/b"}' }), 2_000);
    denials.add(attempt({ details: '{"code":"forbidden"}' }), 3_000);
    expect(denials.take().map(counted)).toEqual([
      attempt({
        details:
          '{"code":"not_found","path":"/a","count":2,"first_at":"1970-01-01T00:00:01.000Z","last_at":"1970-01-01T00:00:02.000Z"}',
      }),
      attempt({
        details:
          '{"code":"forbidden","count":1,"first_at":"1970-01-01T00:00:03.000Z","last_at":"1970-01-01T00:00:03.000Z"}',
      }),
    ]);
    expect(denials.take()).toEqual([]);
  });

  it('of one who tries everything are counted together from the hundredth target on, and hide nobody else', () => {
    const denials = new Denials();
    for (let n = 0; n < 1_000; n += 1) denials.add(attempt({ target: `t-${n}` }), 0);
    denials.add(attempt({ principal: 'bob' }), 0);
    const taken = denials.take();
    expect(taken.map(({ entry }) => entry.target).slice(99)).toEqual(['t-99', '*', 't-1']);
    expect(taken.reduce((sum, { count }) => sum + count, 0)).toBe(1_001);
  });

  it('stay bounded when everybody tries everything, and none is lost from the count', () => {
    const denials = new Denials();
    for (let n = 0; n < 20_000; n += 1) denials.add(attempt({ principal: `p-${n}` }), 0);
    const taken = denials.take();
    expect(taken).toHaveLength(5_001);
    expect(taken.reduce((sum, { count }) => sum + count, 0)).toBe(20_000);
  });

  it('that could not be recorded are counted on', () => {
    const denials = new Denials();
    denials.add(attempt(), 1_000);
    const taken = denials.take();
    denials.add(attempt(), 2_000);
    denials.putBack(taken);
    expect(denials.take().map(({ count }) => count)).toEqual([2]);
  });

  it('with details that are no object keep their count', () => {
    const denials = new Denials();
    denials.add(attempt({ details: 'no json' }), 0);
    expect(JSON.parse(counted(denials.take()[0]!).details)).toMatchObject({ count: 1 });
  });
});
