import { type KeyStore, SCOPES } from '#lib/domain';

/** The key of an installation's first administrator. */
export const ADMIN = { tenant: 'default', principal: 'admin', scopes: SCOPES } as const;

/** A key in the form it is stored. */
export interface HashedKey {
  readonly id: string;
  readonly secretHash: Uint8Array;
}

/** Makes the configured key work: creates it, or gives a known id this secret and every scope. */
export async function ensureAdminKey(
  keys: KeyStore,
  { id, secretHash }: HashedKey,
): Promise<'created' | 'replaced' | 'kept'> {
  const known = await keys.find(id);
  const isSame =
    known !== undefined &&
    known.revokedAtMs === null &&
    known.expiresAtMs === null &&
    SCOPES.every((scope) => known.scopes.includes(scope)) &&
    Buffer.from(known.secretHash).equals(secretHash);
  if (isSame) return 'kept';
  await keys.put({ id, secretHash, ...ADMIN, expiresAtMs: null });
  return known ? 'replaced' : 'created';
}
