import { hash as hashOnce, randomBytes, timingSafeEqual } from 'node:crypto';

/** An API key in parts: `swy_<id>_<secret>`, id 1 to 32 of `[a-z0-9]`, secret at least 32 characters. */
export interface ApiKey {
  readonly id: string;
  readonly secret: string;
}

const FORM = /^swy_([a-z0-9]{1,32})_([A-Za-z0-9_-]{32,256})$/;

/** Undefined when the text is no API key. */
export function parseApiKey(text: string): ApiKey | undefined {
  const [, id, secret] = FORM.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

export function formatApiKey({ id, secret }: ApiKey): string {
  return `swy_${id}_${secret}`;
}

/** A new key with 80 bits of id and 256 bits of secret. */
export function mintApiKey(): ApiKey {
  return { id: randomBytes(10).toString('hex'), secret: randomBytes(32).toString('base64url') };
}

/** What is stored of a secret. Secrets are random and long, so one pass of SHA-256 is enough. */
export function hashSecret(secret: string): Uint8Array {
  return Buffer.from(hashOnce('sha256', secret, 'hex'), 'hex');
}

/** Compares in constant time. */
export function isSecretOf(secret: string, hash: Uint8Array): boolean {
  const own = hashSecret(secret);
  return own.length === hash.length && timingSafeEqual(own, hash);
}

/** A new key with what is stored of it; with an `id`, a new secret for that key. */
export function mintHashedKey(id?: string): {
  readonly id: string;
  readonly secretHash: Uint8Array;
  readonly text: string;
} {
  const { secret, ...minted } = mintApiKey();
  const key = { id: id ?? minted.id, secret };
  return { id: key.id, secretHash: hashSecret(secret), text: formatApiKey(key) };
}
