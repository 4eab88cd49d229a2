import { describe, expect, it } from '@jest/globals';
import type { AuditReader, AuditTrail, Scope } from '#lib/domain';
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
