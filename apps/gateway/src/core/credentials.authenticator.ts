import { isIPv6 } from 'node:net';
import { DomainError } from '#lib/domain';
import type { ApiKeyAuthenticator, KeyFormat } from './api-key.authenticator.js';
import { Authenticator, RefusedCredential } from './authenticator.js';
import type { Caller } from './caller.js';
import type { FailedAttempts } from './failed-attempts.js';
import type { TokenAuthenticator } from './token.authenticator.js';

export interface CredentialKinds {
  readonly format: Pick<KeyFormat, 'parse'>;
  readonly keys: ApiKeyAuthenticator;
  readonly tokens: TokenAuthenticator;
}

/**
 * Authenticates by whatever a caller may send, an API key or a token of an issuer, and limits who fails: an address that
 * failed too often may only send what has been good before, and under a key that was guessed at too often failures are told
 * to wait. What is good is never kept out by what others send.
 */
export class CredentialsAuthenticator extends Authenticator {
  constructor(
    private readonly kinds: CredentialKinds,
    private readonly attempts: FailedAttempts,
  ) {
    super();
  }

  override async authenticate(credential: string, from: () => string): Promise<Caller> {
    const key = this.kinds.format.parse(credential);
    if (!this.attempts.isQuiet) this.assertMayTry(credential, networkOf(from()));
    try {
      if (!key) return await this.kinds.tokens.authenticate(credential);
      return await this.kinds.keys.authenticate(key, this.attempts.waitMs(nameOf(key.id)) === 0);
    } catch (error) {
      if (error instanceof RefusedCredential) this.failed(error, networkOf(from()));
      throw error;
    }
  }

  override async lapsed(callers: readonly Caller[]): Promise<ReadonlySet<Caller>> {
    const nowMs = Date.now();
    const keyIds = new Set(callers.filter(({ expiresAtMs }) => expiresAtMs === undefined).map(({ keyId }) => keyId));
    const ids = new Set(keyIds.size > 0 ? await this.kinds.keys.lapsed([...keyIds]) : []);
    return new Set(callers.filter(({ keyId, expiresAtMs }) => (expiresAtMs ?? Infinity) <= nowMs || ids.has(keyId)));
  }

  private assertMayTry(credential: string, network: string): void {
    const waitMs = this.attempts.waitMs(network);
    if (waitMs === 0) return;
    const key = this.kinds.format.parse(credential);
    const isKnown = key ? this.kinds.keys.recognises(key) : this.kinds.tokens.recognises(credential);
    if (!isKnown) throw tooMany(waitMs);
  }

  private failed({ subject }: RefusedCredential, network: string): void {
    this.attempts.note(network);
    if (subject.keyId === '') return;
    const waitMs = this.attempts.waitMs(nameOf(subject.keyId));
    if (waitMs > 0) throw tooMany(waitMs);
    this.attempts.note(nameOf(subject.keyId));
  }
}

const nameOf = (keyId: string): string => `key ${keyId}`;

/** Whoever has one IPv6 address has all 2^64 of its network. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('::', 2) as [string, string?];
  const given = head.split(':').filter(Boolean);
  const missing = tail === undefined ? 0 : 8 - given.length - tail.split(':').filter(Boolean).length;
  const groups = [...given, ...Array.from({ length: missing }, () => '0'), ...(tail ?? '').split(':')];
  return groups
    .slice(0, 4)
    .map((group) => parseInt(group || '0', 16).toString(16))
    .join(':');
}

function tooMany(waitMs: number): DomainError {
  return new DomainError('rate_limited', 'Too many attempts with credentials that are not valid.', {
    retryAfterSeconds: Math.ceil(waitMs / 1000),
  });
}
