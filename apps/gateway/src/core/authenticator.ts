import type { Caller } from './caller.js';

/** Turns a credential into the caller it stands for. */
export abstract class Authenticator {
  /** @throws DomainError `unauthenticated` when the credential is malformed, unknown, expired or revoked */
  abstract authenticate(credential: string): Promise<Caller>;
}
