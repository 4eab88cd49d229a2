import { describe, expect, it } from '@jest/globals';
import { type KeyRecord, UnavailableError } from '#lib/domain';
import { hashSecret, isSecretOf, mintApiKey, parseApiKey } from '#lib/security';
import { MemoryKeyStore } from '../../../../test/support/memory-key-store.js';
import { ApiKeyAuthenticator } from './api-key.authenticator.js';

class CountingKeyStore extends MemoryKeyStore {
  asked = 0;
  isDown = false;

  override async find(id: string): Promise<KeyRecord | undefined> {
    this.asked += 1;
    if (this.isDown) throw new UnavailableError('down');
    return super.find(id);
  }
}

const key = mintApiKey();
const refused = { code: 'unauthenticated' };
const AUDIT = {
  tenant: 't',
  principal: 'p',
  keyId: 'k',
  target: key.id,
  outcome: 'allowed',
  details: '{}',
  requestId: 'r',
} as const;
const reason = (words: string): object => ({ ...refused, reason: words });

function setUp(more: Partial<KeyRecord> = {}): {
  keys: CountingKeyStore;
  authenticator: ApiKeyAuthenticator;
  clock: { nowMs: number };
  used: string[];
} {
  const clock = { nowMs: 1_000_000 };
  const keys = new CountingKeyStore(() => clock.nowMs);
  keys.rows.set(key.id, {
    id: key.id,
    secretHash: hashSecret(key.secret),
    retiring: [],
    label: null,
    rotatedAtMs: null,
    lastUsedAtMs: null,
    tenant: 't',
    principal: 'p',
    scopes: ['tasks:read'],
    createdAtMs: 0,
    expiresAtMs: null,
    revokedAtMs: null,
    ...more,
  });
  const format = { parse: parseApiKey, isSecretOf };
  const used: string[] = [];
  const uses = { note: (id: string) => void used.push(id) };
  return { keys, clock, used, authenticator: new ApiKeyAuthenticator(keys, format, uses, () => clock.nowMs) };
}

describe('ApiKeyAuthenticator', () => {
  it('knows the caller of a key, and asks the store once in four seconds', async () => {
    const { keys, clock, authenticator } = setUp();
    const caller = { tenant: 't', principal: 'p', keyId: key.id, scopes: new Set(['tasks:read']) };
    await expect(Promise.all([authenticator.authenticate(key), authenticator.authenticate(key)])).resolves.toEqual([
      caller,
      caller,
    ]);
    clock.nowMs += 3_999;
    await authenticator.authenticate(key);
    expect(keys.asked).toBe(1);
    clock.nowMs += 1;
    await authenticator.authenticate(key);
    expect(keys.asked).toBe(2);
  });

  it('refuses a key within five seconds of its revocation', async () => {
    const { keys, clock, authenticator } = setUp();
    await authenticator.authenticate(key);
    keys.rows.set(key.id, { ...keys.rows.get(key.id)!, revokedAtMs: clock.nowMs });
    clock.nowMs += 4_000;
    await expect(authenticator.authenticate(key)).rejects.toMatchObject(refused);
  });

  it('refuses a remembered key the moment it expires', async () => {
    const { clock, authenticator } = setUp({ expiresAtMs: 1_000_100 });
    await authenticator.authenticate(key);
    clock.nowMs += 100;
    await expect(authenticator.authenticate(key)).rejects.toMatchObject(refused);
  });

  it('refuses another secret under a known id', async () => {
    const { authenticator } = setUp();
    const other = { id: key.id, secret: mintApiKey().secret };
    await expect(authenticator.authenticate(other)).rejects.toMatchObject(reason('wrong secret'));
  });

  it('takes both secrets in the overlap of a rotation, the new one at once, and the old one no longer', async () => {
    const { keys, clock, authenticator, used } = setUp();
    await authenticator.authenticate(key);
    const fresh = { id: key.id, secret: mintApiKey().secret };
    const audit = { ...AUDIT, action: 'key.rotate' };
    await keys.rotate({ id: key.id, secretHash: hashSecret(fresh.secret), overlapMs: 60_000 }, audit);
    await expect(authenticator.authenticate(fresh)).resolves.toMatchObject({ principal: 'p' });
    await expect(authenticator.authenticate(key)).resolves.toMatchObject({ principal: 'p' });
    clock.nowMs += 60_000;
    await expect(authenticator.authenticate(key)).rejects.toMatchObject(reason('wrong secret'));
    await expect(authenticator.authenticate(fresh)).resolves.toMatchObject({ principal: 'p' });
    expect(used).toHaveLength(4);
  });

  it('does not look again for a secret that does not fit when it is told not to', async () => {
    const { keys, authenticator } = setUp();
    await authenticator.authenticate(key);
    const other = { id: key.id, secret: mintApiKey().secret };
    await expect(authenticator.authenticate(other, false)).rejects.toMatchObject(refused);
    expect(keys.asked).toBe(1);
    await expect(authenticator.authenticate(other)).rejects.toMatchObject(refused);
    expect(keys.asked).toBe(2);
  });

  it('remembers that a key is unknown, and forgets the oldest of very many', async () => {
    const { keys, authenticator } = setUp();
    const unknown = (n: number) => ({ id: `x${n}`, secret: key.secret });
    await expect(authenticator.authenticate(unknown(0))).rejects.toMatchObject(refused);
    await expect(authenticator.authenticate(unknown(0))).rejects.toMatchObject(refused);
    expect(keys.asked).toBe(1);
    for (let n = 1; n <= 10_000; n++) await authenticator.authenticate(unknown(n)).catch(() => undefined);
    await expect(authenticator.authenticate(unknown(0))).rejects.toMatchObject(refused);
    expect(keys.asked).toBe(10_002);
  });

  it('says that the store is away, and asks again at the next request', async () => {
    const { keys, authenticator } = setUp();
    keys.isDown = true;
    await expect(authenticator.authenticate(key)).rejects.toMatchObject({ code: 'unavailable' });
    keys.isDown = false;
    await expect(authenticator.authenticate(key)).resolves.toMatchObject({ principal: 'p' });
  });
});
