import type { KeyStore, Logger, TokenVerifier } from '#lib/domain';
import { ApiKeyAuthenticator, type KeyFormat } from './api-key.authenticator.js';
import { Authenticator } from './authenticator.js';
import type { CoreProvider } from './core.provider.js';
import { CredentialsAuthenticator } from './credentials.authenticator.js';
import { FailedAttempts } from './failed-attempts.js';
import { KeyUses } from './key-uses.js';
import { type KeyMint, KeysService } from './keys.service.js';
import { TokenAuthenticator } from './token.authenticator.js';

/** What tells who calls. */
export interface CallerPorts {
  readonly logger: Logger;
  readonly keys: KeyStore;
  readonly keyFormat: KeyFormat & KeyMint;
  /** Undefined: no issuer's tokens are believed. */
  readonly issuerTokens: TokenVerifier | undefined;
  /** Failed authentications an address, or under the id of a key, may make in a minute. */
  readonly authFailuresPerMinute: number;
}

/** Who calls, and the keys they call with: providers of the core. */
export function callerServices(ports: CallerPorts): readonly CoreProvider[] {
  const { keys, keyFormat: format } = ports;
  return [
    { provide: KeyUses, useFactory: () => new KeyUses(keys, ports.logger) },
    {
      provide: ApiKeyAuthenticator,
      useFactory: (uses: KeyUses) => new ApiKeyAuthenticator(keys, format, uses),
      inject: [KeyUses],
    },
    {
      provide: Authenticator,
      useFactory: (own: ApiKeyAuthenticator) => {
        const kinds = { format, keys: own, tokens: new TokenAuthenticator(ports.issuerTokens) };
        return new CredentialsAuthenticator(kinds, new FailedAttempts(ports.authFailuresPerMinute));
      },
      inject: [ApiKeyAuthenticator],
    },
    {
      provide: KeysService,
      useFactory: (own: ApiKeyAuthenticator) => new KeysService(keys, format, (id) => own.forget(id)),
      inject: [ApiKeyAuthenticator],
    },
  ];
}
