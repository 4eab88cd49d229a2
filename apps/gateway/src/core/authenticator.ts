import { DomainError } from '#lib/domain';
import type { Caller } from './caller.js';

/** Turns a credential into the caller it stands for. */
export abstract class Authenticator {
  /**
   * `from` tells the address it came from, when that is asked for.
   *
   * @throws RefusedCredential when it is malformed, unknown, expired or revoked
   * @throws DomainError `rate_limited` after too many of these, `unavailable` when it cannot be checked now
   */
  abstract authenticate(credential: string, from: () => string): Promise<Caller>;
  /** Those of these callers whose credential is good no longer, though it was when what they opened began. */
  abstract lapsed(callers: readonly Caller[]): Promise<ReadonlySet<Caller>>;
}

/** Whose credential it seems to be, as far as it is known. */
export type Subject = Pick<Caller, 'tenant' | 'principal' | 'keyId'>;

/** Nobody we know. */
export const NOBODY: Subject = { tenant: '', principal: '', keyId: '' };

/**
 * A credential that stands for nobody. What was wrong with it goes to the audit trail; whoever sent it is told the same in
 * every case.
 */
export class RefusedCredential extends DomainError {
  constructor(
    readonly reason: string,
    readonly subject: Subject = NOBODY,
  ) {
    super('unauthenticated', 'The key or token is not valid, has expired or was revoked.');
  }
}
