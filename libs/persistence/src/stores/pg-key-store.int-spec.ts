import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type AuditEntry, type KeyRecord, type KeyStore, MAX_LIVE_SECRETS, type NewKey } from '#lib/domain';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { MemoryKeyStore } from '../../../../test/support/memory-key-store.js';
import { Database } from '../database.js';
import { PgKeyStore } from './pg-key-store.js';

let test: TestDatabase;
let database: Database;

beforeAll(async () => {
  test = await createDatabase();
  database = new Database({ databaseUrl: test.url, max: 2, name: 'test' });
});

afterAll(async () => {
  await database.close();
  await test.drop();
});

const query = <Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
  database.query({ name: '', text }, values);

const hash = (n: number): Uint8Array => Buffer.alloc(32, n);
const FAR_MS = 4_000_000_000_000;
const PAGE = { limit: 50 };

function key(id: string, more: Partial<NewKey> = {}): NewKey {
  return {
    id,
    secretHash: hash(1),
    tenant: 't',
    principal: 'p',
    scopes: ['tasks:read'],
    label: null,
    expiresAtMs: null,
    ...more,
  };
}

function audit(action: string, target: string): AuditEntry {
  return { tenant: 't', principal: 'p', keyId: 'k', action, target, outcome: 'allowed', details: '{}', requestId: 'r' };
}

const hex = ({ secretHash, retiring }: KeyRecord): string[] =>
  [secretHash, ...retiring.map((old) => old.secretHash)].map((one) => Buffer.from(one).toString('hex').slice(0, 2));

describe.each([
  ['in Postgres', () => new PgKeyStore(database)],
  ['in memory', () => new MemoryKeyStore()],
] as const)('keys %s', (_, open) => {
  let store: KeyStore;
  let records: () => Promise<unknown[]>;

  beforeEach(async () => {
    store = open();
    await query('delete from api_keys');
    const [row] = await query<{ n: number }>('select count(*)::int as n from audit_records');
    const stored = (): Promise<unknown[]> =>
      query('select action, target from audit_records order by at offset $1', [row?.n]);
    records = store instanceof MemoryKeyStore ? async () => (store as MemoryKeyStore).records : stored;
  });

  const put = (...keys: NewKey[]): Promise<unknown> =>
    keys.reduce<Promise<unknown>>(
      (last, one) => last.then(() => store.put(one, audit('key.create', one.id))),
      Promise.resolve(),
    );
  const rotate = (id: string, n: number, overlapMs: number): Promise<boolean> =>
    store.rotate({ id, secretHash: hash(n), overlapMs }, audit('key.rotate', id));

  it('are stored and replaced under the same id, live again', async () => {
    expect([await store.any(), await store.find('k1')]).toEqual([false, undefined]);
    await put(key('k1', { label: 'first' }));
    await store.revoke('k1', audit('key.revoke', 'k1'));
    await put(key('k1', { secretHash: hash(2), expiresAtMs: FAR_MS }));
    const fresh = { retiring: [], rotatedAtMs: null, revokedAtMs: null, lastUsedAtMs: null, label: null };
    expect(await store.find('k1')).toMatchObject({
      ...fresh,
      id: 'k1',
      tenant: 't',
      principal: 'p',
      expiresAtMs: FAR_MS,
    });
    expect([await store.any(), hex((await store.find('k1'))!)]).toEqual([true, ['02']]);
  });

  it('are revoked once, with every secret they have and one record', async () => {
    await put(key('k1'));
    await rotate('k1', 2, 60_000);
    expect(await store.revoke('k1', audit('key.revoke', 'k1'))).toBe(true);
    expect(await store.revoke('k1', audit('key.revoke', 'k1'))).toBe(false);
    expect(await store.revoke('nobody', audit('key.revoke', 'nobody'))).toBe(false);
    expect(await store.find('k1')).toMatchObject({ revokedAtMs: expect.any(Number), retiring: [] });
    expect(await rotate('k1', 3, 60_000)).toBe(false);
    expect(await records()).toMatchObject(
      ['create', 'rotate', 'revoke'].map((verb) => ({ action: `key.${verb}`, target: 'k1' })),
    );
    await store.put(key('k2', { expiresAtMs: 1 }), audit('key.create', 'k2'));
    await store.put(key('k3', { expiresAtMs: FAR_MS }), audit('key.create', 'k3'));
    expect([...(await store.lapsed(['k1', 'k2', 'k3', 'nobody']))].sort()).toEqual(['k1', 'k2']);
  });

  it('keep the secrets of earlier rotations for the time of each, and no more than there may be', async () => {
    await put(key('k1'), key('old', { expiresAtMs: Date.now() - 1 }));
    for (let n = 2; n <= MAX_LIVE_SECRETS; n += 1) expect(await rotate('k1', n, 60_000 * n)).toBe(true);
    expect(await rotate('k1', 9, 60_000)).toBe(false);
    const { retiring } = (await store.find('k1'))!;
    expect(hex((await store.find('k1'))!)).toEqual(['05', '01', '02', '03', '04']);
    expect(retiring.every(({ untilMs }, n) => Math.abs(untilMs - Date.now() - 60_000 * (n + 2)) < 30_000)).toBe(true);
    expect(await rotate('k1', 7, 0)).toBe(true);
    expect(hex((await store.find('k1'))!)).toEqual(['07']);
    expect([await rotate('old', 2, 60_000), await rotate('nobody', 2, 60_000)]).toEqual([false, false]);
  });

  it('lose none of several rotations at once', async () => {
    await put(key('k1'));
    expect(await Promise.all([2, 3, 4].map((n) => rotate('k1', n, 60_000)))).toEqual([true, true, true]);
    expect(hex((await store.find('k1'))!).sort()).toEqual(['01', '02', '03', '04']);
  });

  it('are listed by tenant and principal, page by page', async () => {
    await put(key('a'), key('b', { principal: 'q' }), key('c', { tenant: 'u' }), key('d'));
    const ids = async (filter: object): Promise<string[]> =>
      (await store.list(filter, PAGE)).items.map(({ id }) => id).sort();
    expect([await ids({}), await ids({ tenant: 't' }), await ids({ tenant: 't', principal: 'p' })]).toEqual([
      ['a', 'b', 'c', 'd'],
      ['a', 'b', 'd'],
      ['a', 'd'],
    ]);
    const first = await store.list({ tenant: 't' }, { limit: 2 });
    const second = await store.list({ tenant: 't' }, { limit: 2, cursor: first.nextCursor });
    expect([...first.items, ...second.items].map(({ id }) => id).sort()).toEqual(['a', 'b', 'd']);
    expect(second.nextCursor).toBeUndefined();
  });
});

describe('the last use of keys', () => {
  it('is written down at most once in some minutes, whoever else is at the row', async () => {
    const store = new PgKeyStore(database);
    await query('delete from api_keys');
    for (const id of ['a', 'b', 'c']) await store.put(key(id), audit('key.create', id));
    await Promise.all([store.markUsed(['a', 'b']), store.markUsed(['b', 'a', 'nobody'])]);
    const first = await store.find('a');
    expect([first?.lastUsedAtMs, (await store.find('c'))?.lastUsedAtMs]).toEqual([expect.any(Number), null]);
    await store.markUsed(['a']);
    expect((await store.find('a'))?.lastUsedAtMs).toBe(first!.lastUsedAtMs);
  });

  it('refuses a cursor that it did not give out', async () => {
    const store = new PgKeyStore(database);
    await expect(store.list({}, { limit: 1, cursor: 'eCB5' })).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
