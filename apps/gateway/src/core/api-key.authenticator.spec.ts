import { describe, expect, it } from '@jest/globals';
import { type KeyRecord, KeyStore, UnavailableError } from '#lib/domain';
import { formatApiKey, hashSecret, isSecretOf, mintApiKey, parseApiKey } from '#lib/security';
import { ApiKeyAuthenticator } from './api-key.authenticator.js';

class CountingKeyStore extends KeyStore {
  readonly rows = new Map<string, KeyRecord>();
  asked = 0;
  isDown = false;

  override async find(id: string): Promise<KeyRecord | undefined> {
    this.asked += 1;
    if (this.isDown) throw new UnavailableError('down');
    return this.rows.get(id);
  }

  override async list(): Promise<readonly KeyRecord[]> {
    return [...this.rows.values()];
  }

  override async put(): Promise<void> {}

  override async any(): Promise<boolean> {
    return this.rows.size > 0;
  }

  override async revoke(): Promise<boolean> {
    return false;
  }
}

const key = mintApiKey();
const text = formatApiKey(key);
const refused = { code: 'unauthenticated' };

function setUp(more: Partial<KeyRecord> = {}): {
  keys: CountingKeyStore;
  authenticator: ApiKeyAuthenticator;
  clock: { nowMs: number };
} {
  const keys = new CountingKeyStore();
  const clock = { nowMs: 1_000_000 };
  keys.rows.set(key.id, {
    id: key.id,
    secretHash: hashSecret(key.secret),
    tenant: 't',
    principal: 'p',
    scopes: ['tasks:read'],
    createdAtMs: 0,
    expiresAtMs: null,
    revokedAtMs: null,
    ...more,
  });
  const format = { parse: parseApiKey, isSecretOf };
  return { keys, clock, authenticator: new ApiKeyAuthenticator(keys, format, () => clock.nowMs) };
}

describe('ApiKeyAuthenticator', () => {
  it('knows the caller of a key, and asks the store once in five seconds', async () => {
    const { keys, clock, authenticator } = setUp();
    const caller = { tenant: 't', principal: 'p', keyId: key.id, scopes: new Set(['tasks:read']) };
    await expect(Promise.all([authenticator.authenticate(text), authenticator.authenticate(text)])).resolves.toEqual([
      caller,
      caller,
    ]);
    clock.nowMs += 4_999;
    await authenticator.authenticate(text);
    expect(keys.asked).toBe(1);
    clock.nowMs += 1;
    await authenticator.authenticate(text);
    expect(keys.asked).toBe(2);
  });

  it('refuses a key within five seconds of its revocation', async () => {
    const { keys, clock, authenticator } = setUp();
    await authenticator.authenticate(text);
    keys.rows.set(key.id, { ...keys.rows.get(key.id)!, revokedAtMs: clock.nowMs });
    clock.nowMs += 5_000;
    await expect(authenticator.authenticate(text)).rejects.toMatchObject(refused);
  });

  it('refuses a remembered key the moment it expires', async () => {
    const { clock, authenticator } = setUp({ expiresAtMs: 1_000_100 });
    await authenticator.authenticate(text);
    clock.nowMs += 100;
    await expect(authenticator.authenticate(text)).rejects.toMatchObject(refused);
  });

  it('refuses another secret under a known id', async () => {
    const { authenticator } = setUp();
    const other = formatApiKey({ id: key.id, secret: mintApiKey().secret });
    await expect(authenticator.authenticate(other)).rejects.toMatchObject(refused);
  });

  it('refuses what is no key without asking the store', async () => {
    const { keys, authenticator } = setUp();
    await expect(authenticator.authenticate('swy_a_b')).rejects.toMatchObject(refused);
    expect(keys.asked).toBe(0);
  });

  it('remembers that a key is unknown, and forgets the oldest of very many', async () => {
    const { keys, authenticator } = setUp();
    const unknown = (n: number): string => formatApiKey({ id: `x${n}`, secret: key.secret });
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
    await expect(authenticator.authenticate(text)).rejects.toMatchObject({ code: 'unavailable' });
    keys.isDown = false;
    await expect(authenticator.authenticate(text)).resolves.toMatchObject({ principal: 'p' });
  });
});
