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

  it('by another key or from another address are records of their own', () => {
    const denials = new Denials();
    const from = (address: string): string => JSON.stringify({ code: 'forbidden', address });
    denials.add(attempt({ details: from('10.0.0.1') }), 0);
    denials.add(attempt({ details: from('10.0.0.2') }), 0);
    denials.add(attempt({ details: from('10.0.0.2'), keyId: 'k2' }), 0);
    expect(denials.take().map(({ entry, count }) => [entry.keyId, entry.details, count])).toEqual([
      ['k1', from('10.0.0.1'), 1],
      ['k1', from('10.0.0.2'), 1],
      ['k2', from('10.0.0.2'), 1],
    ]);
  });

  it('of one who goes on and on become few records each time, and all are counted', () => {
    const denials = new Denials();
    const sizes = Array.from({ length: 4 }, (_, period) => {
      for (let n = 0; n < 1_000; n += 1) denials.add(attempt({ target: `t-${period}-${n}` }), period);
      const taken = denials.take();
      expect(taken.reduce((sum, { count }) => sum + count, 0)).toBe(1_000);
      return taken.length;
    });
    expect(sizes).toEqual([101, 11, 11, 11]);
    for (let period = 0; period < 10; period += 1) denials.take();
    for (let n = 0; n < 1_000; n += 1) denials.add(attempt({ target: `t-${n}` }), 9);
    expect(denials.take()).toHaveLength(101);
  });

  it('of nobody from many addresses, and of a tenant of many principals, hide no one of another tenant', () => {
    const denials = new Denials();
    for (let n = 0; n < 3_000; n += 1) {
      denials.add(attempt({ tenant: '', principal: '', keyId: '', target: `10.0.${n >> 8}.${n & 255}` }), 0);
      denials.add(attempt({ tenant: 'flood', principal: `p-${n}` }), 0);
    }
    denials.add(attempt({ target: 'the one that matters' }), 0);
    const taken = denials.take();
    expect(taken).toHaveLength(2_003);
    expect(taken.at(-1)?.entry.target).toBe('the one that matters');
    const folded = taken.filter(({ entry }) => entry.target === '*');
    expect(folded.map(({ entry, count }) => [entry.tenant, entry.principal, count])).toEqual([
      ['', '*', 2_000],
      ['flood', '*', 2_000],
    ]);
  });

  it('stay bounded when everybody tries everything, and none is lost from the count', () => {
    const denials = new Denials();
    for (let n = 0; n < 20_000; n += 1) denials.add(attempt({ tenant: `t-${n % 50}`, principal: `p-${n}` }), 0);
    const taken = denials.take();
    expect(taken).toHaveLength(5_001);
    expect(taken.reduce((sum, { count }) => sum + count, 0)).toBe(20_000);
    // Not even for what could not be recorded there is more room, and it is counted all the same.
    for (let n = 0; n < 20_000; n += 1) denials.add(attempt({ tenant: `u-${n % 50}`, principal: `p-${n}` }), 1);
    denials.putBack(taken);
    expect(denials.take().reduce((sum, { count }) => sum + count, 0)).toBe(40_000);
  });

  it('that could not be recorded are counted on, from when they began', () => {
    const denials = new Denials();
    denials.add(attempt(), 1_000);
    const taken = denials.take();
    denials.add(attempt(), 2_000);
    denials.putBack(taken);
    expect(denials.take()).toMatchObject([{ count: 2, firstMs: 1_000, lastMs: 2_000 }]);
  });

  it('with details that are no object keep their count', () => {
    const denials = new Denials();
    denials.add(attempt({ details: 'no json' }), 0);
    expect(JSON.parse(counted(denials.take()[0]!).details)).toMatchObject({ count: 1 });
  });
});
