import { createHmac, timingSafeEqual } from 'node:crypto';
import { parseNamedKeys } from './named-keys.js';

/** A key that signs links; `id` travels in the link so that keys can be changed without breaking links in the wild. */
export interface LinkKey {
  readonly id: string;
  readonly secret: Uint8Array;
}

/** What a signature covers. `exp` is the end of the link's life in seconds since the epoch, as text. */
export interface SignedRequest {
  readonly method: string;
  readonly path: string;
  readonly exp: string;
}

const EXPIRY = /^\d{1,12}$/;

/** `kid:base64,kid:base64`, secrets of at least 16 bytes. Undefined when the text is none. */
export function parseLinkKeys(text: string): readonly LinkKey[] | undefined {
  return parseNamedKeys(text, (id, secret) => ({ id, secret }));
}

/** Signs links with the first key and verifies them with all. */
export class LinkSigner {
  constructor(private readonly keys: readonly [LinkKey, ...LinkKey[]]) {}

  /** `<kid>.<HMAC-SHA256 in base64url>`. */
  sign(request: SignedRequest): string {
    const [key] = this.keys;
    return `${key.id}.${mac(key, request).toString('base64url')}`;
  }

  /** True when the signature is one of ours and the link has not expired at `nowMs`. */
  verify(request: SignedRequest, sig: string, nowMs: number): boolean {
    const dot = sig.indexOf('.');
    const key = this.keys.find((candidate) => candidate.id === sig.slice(0, dot));
    if (!key || !EXPIRY.test(request.exp) || Number(request.exp) * 1000 <= nowMs) return false;
    // As text: base64 has several spellings of the same bytes, and only the one we gave out is ours.
    const given = Buffer.from(sig.slice(dot + 1));
    const own = Buffer.from(mac(key, request).toString('base64url'));
    return given.length === own.length && timingSafeEqual(given, own);
  }
}

function mac(key: LinkKey, { method, path, exp }: SignedRequest): Buffer {
  return createHmac('sha256', key.secret).update(`${method}\n${path}\n${exp}`).digest();
}
