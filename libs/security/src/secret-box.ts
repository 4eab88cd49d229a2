import type { SecretStore } from '#lib/domain';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { parseNamedKeys } from './named-keys.js';

/** A key that secrets are kept under; `id` is stored with each, so that keys can be changed. */
export interface BoxKey {
  readonly id: string;
  /** 32 bytes. */
  readonly secret: Uint8Array;
}

const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** The name of the key in the database; one that is configured may not have it. */
const SHARED = 'db';

/** `kid:base64,kid:base64`, keys of 32 bytes. Undefined when the text is none. */
export function parseBoxKeys(text: string): readonly BoxKey[] | undefined {
  return parseNamedKeys(text, (id, secret) =>
    secret.length === KEY_BYTES && id !== SHARED ? { id, secret } : undefined,
  );
}

/** Over the given keys, and one that all processes share: what was sealed before keys were given stays readable. */
export async function secretBoxFrom(keys: readonly BoxKey[] | undefined, secrets: SecretStore): Promise<SecretBox> {
  const shared = { id: SHARED, secret: await secrets.getOrCreate('webhook-key', () => randomBytes(KEY_BYTES)) };
  const [first, ...others] = keys ?? [];
  return new SecretBox(first ? [first, ...others, shared] : [shared]);
}

/** A secret that cannot be read: it was sealed under a key that is not there, for something else, or was changed. */
export class UnreadableSecretError extends Error {
  override readonly name = 'UnreadableSecretError';
}

/** Keeps secrets that have to be used again: AES-256-GCM (NIST SP 800-38D), sealed with the first key, opened with all. */
export class SecretBox {
  constructor(private readonly keys: readonly [BoxKey, ...BoxKey[]]) {}

  /** `purpose` says what it is a secret of; it can be opened for that only, wherever somebody moves it. */
  seal(secret: Uint8Array, purpose: string): Uint8Array {
    const [key] = this.keys;
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key.secret, iv).setAAD(Buffer.from(purpose));
    const id = Buffer.from(key.id);
    return Buffer.concat([Buffer.of(id.length), id, iv, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
  }

  /** @throws UnreadableSecretError */
  open(sealed: Uint8Array, purpose: string): Uint8Array {
    const bytes = Buffer.from(sealed);
    const start = 1 + (bytes[0] ?? 0);
    const id = bytes.subarray(1, start).toString();
    const key = this.keys.find((candidate) => candidate.id === id);
    if (!key) throw new UnreadableSecretError('The key this secret is kept under is not there.');
    const end = bytes.length - TAG_BYTES;
    try {
      const iv = bytes.subarray(start, start + IV_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key.secret, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(end));
      return Buffer.concat([decipher.update(bytes.subarray(start + IV_BYTES, end)), decipher.final()]);
    } catch (cause) {
      throw new UnreadableSecretError('The secret was changed, or is one of something else.', { cause });
    }
  }
}
