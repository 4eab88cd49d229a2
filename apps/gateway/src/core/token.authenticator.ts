import { createHash } from 'node:crypto';
import { isUnbelievable, subjectOfClaims, type TokenVerifier, type VerifiedToken } from '#lib/domain';
import { type Subject, RefusedCredential } from './authenticator.js';
import type { Caller } from './caller.js';

/** How long a token is believed without looking at it again, in ms; never past its end. */
const TRUST_MS = 60_000;
/** Tokens remembered; the oldest go first. */
const MAX_ENTRIES = 10_000;

interface Entry {
  readonly caller: Caller;
  readonly untilMs: number;
}

/** Authenticates by the tokens of issuers. A good one is remembered for a minute, so that hot paths check no signature. */
export class TokenAuthenticator {
  private readonly entries = new Map<string, Entry>();

  constructor(
    private readonly verifier: TokenVerifier | undefined,
    private readonly nowMs: () => number = Date.now,
  ) {}

  /** @throws RefusedCredential, DomainError `unavailable` */
  async authenticate(token: string): Promise<Caller> {
    if (!this.verifier || !FORM.test(token)) throw new RefusedCredential('malformed');
    const digest = digestOf(token);
    const known = this.entries.get(digest);
    if (known && known.untilMs > this.nowMs()) return known.caller;
    const verified = await this.verifier.verify(token).catch((error: unknown) => {
      throw isUnbelievable(error) ? new RefusedCredential(error.message) : error;
    });
    const caller = callerOf(verified);
    this.remember(digest, { caller, untilMs: Math.min(verified.expiresAtMs, this.nowMs() + TRUST_MS) });
    return caller;
  }

  /** True when this very token was good within the last minute. */
  recognises(token: string): boolean {
    return (this.entries.get(digestOf(token))?.untilMs ?? 0) > this.nowMs();
  }

  private remember(digest: string, entry: Entry): void {
    this.entries.delete(digest);
    this.entries.set(digest, entry);
    if (this.entries.size <= MAX_ENTRIES) return;
    const [oldest] = this.entries.keys();
    if (oldest !== undefined) this.entries.delete(oldest);
  }
}

/** Three parts of base64url; whatever else is sent is nobody's token. */
const FORM = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** Tokens themselves are not kept. */
function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

function callerOf({ issuer, claims, expiresAtMs }: VerifiedToken): Caller {
  const subject = subjectOfClaims(claims, issuer.mapping);
  const nobody: Subject = { tenant: '', principal: '', keyId: '' };
  if (!subject) throw new RefusedCredential(`its claims name no tenant or principal of ${issuer.id}`, nobody);
  const { tenant, principal, scopes } = subject;
  return { tenant, principal, keyId: `oidc:${issuer.id}:${principal}`, scopes: new Set(scopes), expiresAtMs };
}
