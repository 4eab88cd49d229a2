import { anyText, integerFrom } from '#lib/platform';
import { parseTokenKeys, type TokenKeys } from './token-keys.js';

const tokenKeys = { expects: 'kid:base64,kid:base64 of Ed25519 keys as PKCS#8 in DER', parse: parseTokenKeys };

/** Settings of the task tokens, the same for gateways and runtimes. */
export const TOKEN_SETTINGS = {
  TOKEN_KEYS: {
    meaning: 'Keys that sign task tokens, the first signs; absent: one is made and kept in the database.',
    ...tokenKeys,
  },
  TOKEN_ISSUER: {
    default: 'urn:switchyard',
    meaning: 'Who issues task tokens (`iss`), the same for all processes; a URL where tool servers look for the keys.',
    ...anyText,
  },
  TOKEN_SECONDS: {
    default: '300',
    unit: 's',
    meaning: 'How long a task token lives; the runtime renews it while its run lives.',
    ...integerFrom(30, 3_600),
  },
} as const;

/** What tokens are made and checked with. */
export interface TokenOptions {
  /** Undefined: one that is kept in the database. */
  readonly keys: TokenKeys | undefined;
  readonly issuer: string;
  readonly lifeMs: number;
}

export function tokenOptionsOf(settings: {
  readonly TOKEN_KEYS: TokenKeys | undefined;
  readonly TOKEN_ISSUER: string;
  readonly TOKEN_SECONDS: number;
}): TokenOptions {
  const { TOKEN_KEYS: keys, TOKEN_ISSUER: issuer, TOKEN_SECONDS } = settings;
  return { keys, issuer, lifeMs: TOKEN_SECONDS * 1_000 };
}
