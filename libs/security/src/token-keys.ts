import type { SecretStore } from '#lib/domain';
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { parseNamedKeys } from './named-keys.js';

/** A key pair that signs task tokens (Ed25519); `id` is the `kid` of its tokens. */
export interface TokenKey {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** At least one; the first signs, all verify. */
export type TokenKeys = readonly [TokenKey, ...TokenKey[]];

const SECRET_NAME = 'token-key';

/** `kid:base64,kid:base64` of Ed25519 keys as PKCS#8 in DER. Undefined when the text is none. */
export function parseTokenKeys(text: string): TokenKeys | undefined {
  const [first, ...others] = parseNamedKeys(text, readTokenKey) ?? [];
  return first && [first, ...others];
}

/** The keys that are configured, else one that all processes of an installation share: made once and kept. */
export async function tokenKeysFrom(given: TokenKeys | undefined, secrets: () => SecretStore): Promise<TokenKeys> {
  if (given) return given;
  const der = Buffer.from(await secrets().getOrCreate(SECRET_NAME, createKey));
  const key = readTokenKey('', der);
  if (!key) throw new Error(`the stored ${SECRET_NAME} is no Ed25519 key`);
  return [{ ...key, id: nameOf(key) }];
}

function createKey(): Uint8Array {
  return generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' });
}

/** A name that another key does not have, and that says nothing of this one. */
function nameOf({ publicKey }: TokenKey): string {
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  return createHash('sha256').update(spki).digest('base64url').slice(0, 16);
}

function readTokenKey(id: string, der: Buffer): TokenKey | undefined {
  try {
    const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    if (privateKey.asymmetricKeyType !== 'ed25519') return undefined;
    return { id, privateKey, publicKey: createPublicKey(privateKey) };
  } catch {
    return undefined;
  }
}
