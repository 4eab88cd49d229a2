import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { AuditHead, AuditPruning } from '#lib/domain';
import { pruningText } from './pruning.js';

/** What a head says before it is signed. */
export type HeadBody = Omit<AuditHead, 'kid' | 'signature'>;

const FORM = 'switchyard-audit-head/1';
const PEM_BLOCK = /-----BEGIN ([A-Z ]+)-----[\s\S]+?-----END \1-----/g;

/** The public half of a key that signs heads. */
export interface HeadKey {
  /** The first 16 hex digits of the SHA-256 of the key in DER (SPKI). */
  readonly kid: string;
  /** SPKI in PEM. */
  readonly pem: string;
  readonly key: KeyObject;
}

/** What is signed: a JSON array of strings. */
export function headText({ log, size, root, system, mark, at }: HeadBody): string {
  return JSON.stringify([FORM, log, String(size), root, system, mark, at]);
}

/** True when the key has signed this head. */
export function isSignedBy(head: AuditHead, key: HeadKey): boolean {
  return isSignature(head, headText(head), key);
}

/** True when the key has signed what is said of removed records. */
export function isPruningSignedBy(pruning: AuditPruning, key: HeadKey): boolean {
  return isSignature(pruning, pruningText(pruning), key);
}

type Signature = Pick<AuditHead, 'kid' | 'signature'>;

function isSignature({ kid, signature }: Signature, text: string, by: HeadKey): boolean {
  if (kid !== by.kid || signature === null) return false;
  return verify(null, Buffer.from(text), by.key, Buffer.from(signature, 'base64'));
}

/** Signs heads with the first key and knows those of all. */
export class HeadSigner {
  private constructor(
    private readonly secret: KeyObject,
    readonly signing: HeadKey,
    readonly keys: readonly HeadKey[],
  ) {}

  /**
   * @param pem Ed25519 keys in PEM one after another: the first, a private one, signs. Of the others, which have signed
   *   before, the public half is enough.
   * @returns undefined when the text is something else.
   */
  static parse(pem: string): HeadSigner | undefined {
    const [first, ...others] = pem.match(PEM_BLOCK) ?? [];
    if (first === undefined) return undefined;
    try {
      const secret = createPrivateKey(first);
      const keys = [first, ...others].map((block) => headKey(createPublicKey(block)));
      return new HeadSigner(secret, keys[0]!, keys);
    } catch {
      return undefined;
    }
  }

  sign(body: HeadBody): AuditHead {
    return { ...body, ...this.signText(headText(body)) };
  }

  signPruning(body: Omit<AuditPruning, 'kid' | 'signature'>): AuditPruning {
    return { ...body, ...this.signText(pruningText(body)) };
  }

  /** True when one of the keys has signed it. */
  knows(head: AuditHead): boolean {
    return this.keys.some((key) => isSignedBy(head, key));
  }

  private signText(text: string): Signature {
    return { kid: this.signing.kid, signature: sign(null, Buffer.from(text), this.secret).toString('base64') };
  }
}

/** Keys in PEM, public or private, of which the public half is taken. Undefined when there is anything else, or nothing. */
export function parseHeadKeys(pem: string): readonly HeadKey[] | undefined {
  try {
    const keys = (pem.match(PEM_BLOCK) ?? []).map((block) => headKey(createPublicKey(block)));
    return keys.length === 0 ? undefined : keys;
  } catch {
    return undefined;
  }
}

function headKey(key: KeyObject): HeadKey {
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('not an Ed25519 key');
  const kid = createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
    .slice(0, 16);
  return { kid, pem: key.export({ type: 'spki', format: 'pem' }).toString(), key };
}
