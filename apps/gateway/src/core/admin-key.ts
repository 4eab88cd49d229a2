import { type AuditEntry, type KeyStore, SCOPES } from '#lib/domain';

/** The key of an installation's first administrator. */
export const ADMIN = { tenant: 'default', principal: 'admin', scopes: SCOPES, label: null, expiresAtMs: null } as const;

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
    known.retiring.length === 0 &&
    SCOPES.every((scope) => known.scopes.includes(scope)) &&
    Buffer.from(known.secretHash).equals(secretHash);
  if (isSame) return 'kept';
  const audit = systemAudit({
    tenant: ADMIN.tenant,
    action: 'key.create',
    target: id,
    details: { from: 'ADMIN_API_KEY' },
  });
  await keys.put({ id, secretHash, ...ADMIN }, audit);
  return known ? 'replaced' : 'created';
}

/** What whoever runs the processes did to a key, without a key of their own. */
export interface SystemDeed {
  readonly tenant: string;
  readonly action: string;
  readonly target: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** The record of such a deed. */
export function systemAudit({ details, ...deed }: SystemDeed): AuditEntry {
  return { ...deed, principal: '', keyId: '', outcome: 'allowed', details: JSON.stringify(details), requestId: '' };
}
