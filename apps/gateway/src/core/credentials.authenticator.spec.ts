import { describe, expect, it } from '@jest/globals';
import type { AuditEntry } from '#lib/domain';
import { formatApiKey, hashSecret, isSecretOf, mintApiKey, parseApiKey } from '#lib/security';
import { MemoryKeyStore } from '../../../../test/support/memory-key-store.js';
import { ApiKeyAuthenticator } from './api-key.authenticator.js';
import { CredentialsAuthenticator, networkOf } from './credentials.authenticator.js';
import { FailedAttempts } from './failed-attempts.js';
import { TokenAuthenticator } from './token.authenticator.js';

const PER_MINUTE = 3;
const key = mintApiKey();
const good = formatApiKey(key);
const guess = (): string => formatApiKey({ id: key.id, secret: mintApiKey().secret });
const unknown = (): string => formatApiKey(mintApiKey());
const outcome = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => 'let in',
    (error: { code: string }) => error.code,
  );

async function setUp() {
  const clock = { nowMs: 1_000_000 };
  const nowMs = (): number => clock.nowMs;
  const store = new MemoryKeyStore(nowMs);
  const row = {
    id: key.id,
    secretHash: hashSecret(key.secret),
    tenant: 't',
    principal: 'p',
    label: null,
    expiresAtMs: null,
  };
  await store.put({ ...row, scopes: ['tasks:read'] }, {} as AuditEntry);
  const format = { parse: parseApiKey, isSecretOf };
  const authenticatorOf = (): CredentialsAuthenticator => {
    const keys = new ApiKeyAuthenticator(store, format, { note: () => undefined }, nowMs);
    return new CredentialsAuthenticator(
      { format, keys, tokens: new TokenAuthenticator(undefined) },
      new FailedAttempts(PER_MINUTE, nowMs),
    );
  };
  const authenticator = authenticatorOf();
  const tries = async (count: number, credential: () => string, from = () => '10.0.0.1'): Promise<unknown[]> => {
    const seen: unknown[] = [];
    for (let n = 0; n < count; n += 1) seen.push(await outcome(authenticator.authenticate(credential(), from)));
    return seen;
  };
  return { clock, tries };
}

describe('CredentialsAuthenticator', () => {
  it('tells an address that failed too often to wait, and how long', async () => {
    const { clock, tries } = await setUp();
    const no = 'unauthenticated';
    expect(await tries(5, unknown)).toEqual([no, no, no, 'rate_limited', 'rate_limited']);
    clock.nowMs += 20_000;
    expect(await tries(2, unknown)).toEqual([no, 'rate_limited']);
    expect(await tries(1, unknown, () => '10.0.0.2')).toEqual([no]);
  });

  it('says the same of what is no key at all', async () => {
    const { tries } = await setUp();
    const no = 'unauthenticated';
    expect(await tries(4, () => 'swy_x')).toEqual([no, no, no, 'rate_limited']);
  });

  it('lets in whoever was good before, from an address where others fail', async () => {
    const { clock, tries } = await setUp();
    expect(await tries(1, () => good)).toEqual(['let in']);
    await tries(9, unknown);
    expect(await tries(2, () => good)).toEqual(['let in', 'let in']);
    clock.nowMs += 6_000;
    expect(await tries(1, () => good)).toEqual(['let in']);
    expect(await tries(1, guess)).toEqual(['rate_limited']);
  });

  it('does not look at what was never good, from an address that is to wait', async () => {
    const { tries } = await setUp();
    await tries(9, unknown);
    expect(await tries(1, () => good)).toEqual(['rate_limited']);
  });

  it('limits guesses at one key from everywhere, and never keeps its owner out', async () => {
    const { tries } = await setUp();
    let n = 0;
    const anywhere = (): string => `10.1.0.${(n += 1)}`;
    const no = 'unauthenticated';
    expect(await tries(5, guess, anywhere)).toEqual([no, no, no, 'rate_limited', 'rate_limited']);
    expect(await tries(1, () => good, anywhere)).toEqual(['let in']);
  });

  it('remembers only so many addresses, the latest of them', async () => {
    const { tries } = await setUp();
    await tries(4, unknown);
    let n = 0;
    await tries(
      10_000,
      () => 'x',
      () => `a${(n += 1)}`,
    );
    expect(await tries(1, unknown)).toEqual(['unauthenticated']);
  });
});

describe('networkOf', () => {
  it.each([
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['2001:0db8:0001:0002::', '2001:db8:1:2'],
    ['::1', '0:0:0:0'],
    ['', ''],
  ])('of %s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
