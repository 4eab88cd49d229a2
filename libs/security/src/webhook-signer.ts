import { createHmac, randomBytes } from 'node:crypto';
import type { SecretBox } from './secret-box.js';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A message that is about to leave. */
export interface OutgoingMessage {
  /** The same at every attempt. */
  readonly id: string;
  /** When this attempt leaves, in ms since the epoch. */
  readonly atMs: number;
  readonly body: string;
}

/** A new signing secret: as its receiver is told it, once, and as it is kept. */
export interface NewSecret {
  /** `whsec_` and base64 (Standard Webhooks, "Signature scheme"). */
  readonly shown: string;
  readonly sealed: Uint8Array;
}

/** Makes signing secrets and signs with them. `purpose` says what a secret is of: it works for that only. */
export class WebhookSigner {
  constructor(private readonly box: SecretBox) {}

  mint(purpose: string): NewSecret {
    const secret = randomBytes(SECRET_BYTES);
    return { shown: PREFIX + secret.toString('base64'), sealed: this.box.seal(secret, purpose) };
  }

  /** Keeps somebody else's secret, which is sent along as it is. */
  seal(text: string, purpose: string): Uint8Array {
    return this.box.seal(Buffer.from(text), purpose);
  }

  /** @throws UnreadableSecretError */
  open(sealed: Uint8Array, purpose: string): string {
    return Buffer.from(this.box.open(sealed, purpose)).toString();
  }

  /**
   * The three headers of a message, signed with each secret: a receiver takes it when it knows one of them.
   * @throws UnreadableSecretError
   */
  headers(
    { id, atMs, body }: OutgoingMessage,
    secrets: readonly Uint8Array[],
    purpose: string,
  ): Readonly<Record<string, string>> {
    const timestamp = String(Math.floor(atMs / 1_000));
    const signatures = secrets.map((sealed) => {
      const mac = createHmac('sha256', this.box.open(sealed, purpose)).update(`${id}.${timestamp}.${body}`);
      return `v1,${mac.digest('base64')}`;
    });
    return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
  }
}
