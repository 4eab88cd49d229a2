import { SCOPES, type Scope } from '#lib/domain';
import { Database, PgKeyStore } from '#lib/persistence';
import { type ApiKey, formatApiKey, hashSecret, mintApiKey } from '#lib/security';

export interface KeyWish {
  /** Default: a new one. */
  readonly key?: ApiKey;
  readonly tenant?: string;
  readonly principal?: string;
  /** Default: every scope. */
  readonly scopes?: readonly Scope[];
  readonly expiresAtMs?: number;
  readonly revoked?: boolean;
}

/** Puts keys into a database, and returns them as callers send them. */
export async function createKeys<const Names extends string>(
  databaseUrl: string,
  wishes: Readonly<Record<Names, KeyWish>>,
): Promise<Record<Names, string>> {
  const database = new Database({ databaseUrl, max: 1, name: 'test' });
  try {
    const store = new PgKeyStore(database);
    const keys = {} as Record<Names, string>;
    for (const [name, wish] of Object.entries(wishes) as [Names, KeyWish][]) keys[name] = await createKey(store, wish);
    return keys;
  } finally {
    await database.close();
  }
}

async function createKey(store: PgKeyStore, wish: KeyWish): Promise<string> {
  const { tenant = 'default', principal = 'tester', scopes = SCOPES, expiresAtMs = null, key = mintApiKey() } = wish;
  const row = { id: key.id, secretHash: hashSecret(key.secret), tenant, principal, scopes, label: null, expiresAtMs };
  const audit = {
    tenant,
    principal: '',
    keyId: '',
    target: key.id,
    outcome: 'allowed',
    details: '{}',
    requestId: '',
  } as const;
  await store.put(row, { ...audit, action: 'key.create' });
  if (wish.revoked) await store.revoke(key.id, { ...audit, action: 'key.revoke' });
  return formatApiKey(key);
}
