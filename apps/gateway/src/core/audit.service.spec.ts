import { describe, expect, it } from '@jest/globals';
import { type AuditEntry, type AuditReader, type AuditTrail, type Scope, UnavailableError } from '#lib/domain';
import { AuditService } from './audit.service.js';

describe('who is of a tenant with the name of all of them', () => {
  const service = new AuditService(
    { search: async (filter: unknown) => ({ items: [filter] }) } as unknown as AuditReader,
    { record: async () => undefined } as unknown as AuditTrail,
    [],
  );
  const search = (...scopes: Scope[]): Promise<unknown> => {
    const caller = { tenant: '*', principal: 'eve', keyId: 'k', scopes: new Set<Scope>(['audit:read', ...scopes]) };
    return service.search(caller, { filter: {}, requestId: 'r' }, { limit: 1 });
  };

  it('reads the records of all of them with platform:admin only', async () => {
    await expect(search()).rejects.toMatchObject({ code: 'forbidden' });
    expect(await search('platform:admin')).toEqual({ items: [{}] });
  });
});

describe('whoever reads the audit trail', () => {
  const record = { id: 'r-1', tenant: 'acme' };
  const caller = { tenant: 'acme', principal: 'zoe', keyId: 'k', scopes: new Set<Scope>(['audit:read']) };
  const service = (reader: object, trail: (entries: readonly AuditEntry[]) => Promise<void>): AuditService =>
    new AuditService(reader as AuditReader, { record: trail } as unknown as AuditTrail, []);

  it('sees nothing that could not be recorded before', async () => {
    const asked: string[] = [];
    const reader = {
      search: async () => void asked.push('search'),
      head: async () => void asked.push('head'),
      find: async () => ({ record, leaf: 0, digest: new Uint8Array(120) }),
    };
    const failing = service(reader, async () => {
      throw new UnavailableError('The database is away.');
    });
    const ask = { filter: {}, requestId: 'r' };
    const unavailable = { code: 'unavailable' };
    await expect(failing.search(caller, ask, { limit: 1 })).rejects.toMatchObject(unavailable);
    await expect(failing.export(caller, ask, 'csv')).rejects.toMatchObject(unavailable);
    await expect(failing.prove(caller, 'r-1', { requestId: 'r' })).rejects.toMatchObject(unavailable);
    expect(asked).toEqual([]);
  });

  it('is told that a record is not sealed yet, and that there is no head of that size; both are recorded', async () => {
    const entries: AuditEntry[] = [];
    const note = async (more: readonly AuditEntry[]): Promise<void> => void entries.push(...more);
    const unsealed = service({ find: async () => ({ record, leaf: null, digest: null }) }, note);
    await expect(unsealed.prove(caller, 'r-1', { requestId: 'r' })).rejects.toMatchObject({ code: 'unavailable' });
    const placed = { record, leaf: 5, digest: new Uint8Array(120) };
    const other = service({ find: async () => placed, head: async () => ({ size: 6 }) }, note);
    await expect(other.prove(caller, 'r-1', { size: 7, requestId: 'r' })).rejects.toMatchObject({ code: 'not_found' });
    expect(entries.map(({ action, target, details }) => [action, target, details])).toEqual([
      ['audit.prove', 'r-1', '{}'],
      ['audit.prove', 'r-1', '{"size":7}'],
    ]);
  });

  it('is told that trees of before the leaves that are kept are gone', async () => {
    const pruned = service({ head: async () => ({ size: 900 }), firstLeaf: async () => 512 }, async () => undefined);
    await expect(pruned.consistency(300, 900)).rejects.toMatchObject({ code: 'gone' });
    await expect(pruned.consistency(600, 901)).rejects.toMatchObject({ code: 'not_found' });
  });
});
