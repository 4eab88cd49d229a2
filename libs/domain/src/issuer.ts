import { isName } from './name.js';
import { isScope, type Scope, SCOPES } from './scopes.js';

/** Where a value of a token is: the name of a claim, or a JSON Pointer (RFC 6901) to a nested one. */
export type ClaimPath = string;

/** The signature algorithms an issuer may use. All are asymmetric: whoever can check a token cannot make one. */
export const TOKEN_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;
/** One of them. */
export type TokenAlgorithm = (typeof TOKEN_ALGORITHMS)[number];

/** How what a token says becomes a caller. */
export interface ClaimMapping {
  /** `names`: the tenants the claim may mean, by what it says; absent: whatever it says. */
  readonly tenant:
    { readonly value: string } | { readonly claim: ClaimPath; readonly names?: ReadonlyMap<string, string> };
  readonly principal: { readonly claim: ClaimPath; readonly prefix: string };
  /**
   * The words of the claim (a list, or a text with spaces), as they are or by `names`, but never another than `ceiling`
   * has; `value`: the same for every token.
   */
  readonly scopes: {
    readonly value: readonly Scope[];
    readonly claim?: ClaimPath;
    readonly names?: ReadonlyMap<string, readonly Scope[]>;
    readonly ceiling: ReadonlySet<Scope>;
  };
}

/** Somebody whose tokens are believed (OpenID Connect Discovery 1.0, RFC 9068). */
export interface Issuer {
  /** Names it in records. */
  readonly id: string;
  /** `iss` of its tokens, exactly. */
  readonly issuer: string;
  /** Where its keys are; absent: where its discovery document says. */
  readonly jwksUri?: string;
  /** One of these has to be in `aud`. */
  readonly audiences: readonly string[];
  readonly algorithms: readonly TokenAlgorithm[];
  /** What `typ` has to be, without `application/`; `none`: absent. */
  readonly typ: string;
  /** How far the clocks may be apart, in s; no token is believed past its `exp` all the same. */
  readonly toleranceSeconds: number;
  readonly mapping: ClaimMapping;
}

/** What a verified token says. */
export type Claims = Readonly<Record<string, unknown>>;

/** Whom a token stands for. */
export interface TokenSubject {
  readonly tenant: string;
  readonly principal: string;
  readonly scopes: readonly Scope[];
}

/** What tokens may give when nothing else is said: to administer the platform has to be named. */
export const DEFAULT_CEILING: readonly Scope[] = SCOPES.filter((scope) => scope !== 'platform:admin');

/** The name of all tenants is that of none. */
const TENANT = /^(?!\*$)[^\p{Cc}\p{Cs}]{1,200}$/u;

/** Whom verified claims stand for; undefined when they name no tenant or no principal. */
export function subjectOfClaims(claims: Claims, { tenant, principal, scopes }: ClaimMapping): TokenSubject | undefined {
  const place = 'value' in tenant ? tenant.value : tenantOf(claimAt(claims, tenant.claim), tenant.names);
  const who = claimAt(claims, principal.claim);
  const name = typeof who === 'string' && who !== '' ? principal.prefix + who : '';
  if (place === undefined || !TENANT.test(place) || !isName(name)) return undefined;
  const words = scopes.claim === undefined ? [] : wordsOf(claimAt(claims, scopes.claim));
  const named = words.flatMap(
    (word) => scopes.names?.get(word) ?? (scopes.names === undefined && isScope(word) ? [word] : []),
  );
  const given = new Set([...scopes.value, ...named]);
  return { tenant: place, principal: name, scopes: [...given].filter((scope) => scopes.ceiling.has(scope)) };
}

function tenantOf(word: unknown, names: ReadonlyMap<string, string> | undefined): string | undefined {
  if (typeof word !== 'string') return undefined;
  return names === undefined ? word : names.get(word);
}

function wordsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split(' ').filter(Boolean);
  return Array.isArray(value) ? value.filter((word): word is string => typeof word === 'string') : [];
}

/** The value at a path; undefined when it is not there. */
export function claimAt(claims: Claims, path: ClaimPath): unknown {
  if (!path.startsWith('/')) return Object.hasOwn(claims, path) ? claims[path] : undefined;
  const names = path
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  return names.reduce<unknown>((value, name) => {
    const isIn = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
    return isIn ? (value as Claims)[name] : undefined;
  }, claims);
}
