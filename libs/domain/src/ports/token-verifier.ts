import type { Claims, Issuer } from '../issuer.js';

/** A token that is genuine and in its time. */
export interface VerifiedToken {
  readonly issuer: Issuer;
  readonly claims: Claims;
  /** When it ends, in ms since the epoch. */
  readonly expiresAtMs: number;
}

/** A token that nobody should believe. The message says why, for the audit trail alone. */
export class UnbelievableToken extends Error {
  override readonly name = 'UnbelievableToken';
}

/** True for those; by name, since realms differ under test. */
export function isUnbelievable(error: unknown): error is UnbelievableToken {
  return error instanceof Error && error.name === 'UnbelievableToken';
}

/** Checks the tokens of configured issuers. */
export abstract class TokenVerifier {
  /** @throws UnbelievableToken; DomainError `unavailable` when the keys of its issuer cannot be had */
  abstract verify(token: string): Promise<VerifiedToken>;
}
