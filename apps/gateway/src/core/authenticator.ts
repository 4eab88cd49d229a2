import type { Scope } from '#lib/domain';

/** Who is calling, as proved by a key. */
export interface Caller {
  readonly tenant: string;
  readonly principal: string;
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope>;
}

/** Turns a credential into the caller it stands for. */
export abstract class Authenticator {
  /** @throws DomainError `unauthenticated` when the credential is malformed, unknown, expired or revoked */
  abstract authenticate(credential: string): Promise<Caller>;
}
