import {
  type Claims,
  DomainError,
  type Issuer,
  type OutboundClient,
  TokenVerifier,
  UnbelievableToken,
  type VerifiedToken,
} from '#lib/domain';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  decodeProtectedHeader,
  type JSONWebKeySet,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type ProtectedHeaderParameters,
} from 'jose';

/** Longer texts are no tokens of anybody; some issuers put groups into theirs. */
const MAX_TOKEN = 16_384;
/** How long keys are believed without asking for them again, in ms: a key the issuer took back works no longer. */
const KEYS_MS = 300_000;
/** How often a token with an unknown key may make us ask, in ms. */
const UNKNOWN_KEY_MS = 5_000;
/** How long an issuer that could not be reached is left alone, in ms. */
const PAUSE_MS = 2_000;
const LIMITS = { timeoutMs: 5_000, maxResponseBytes: 262_144 };
/** Header parameters that bring a key along or say where one is: keys come from the issuer alone (RFC 8725, 3.10). */
const KEY_HINTS = ['jku', 'jwk', 'x5u', 'x5c', 'crit', 'b64'] as const;

/** The tokens of OpenID Connect issuers. */
export class IssuerTokens extends TokenVerifier {
  private readonly byIssuer: ReadonlyMap<string, Checked>;

  constructor(issuers: readonly Issuer[], outbound: Pick<OutboundClient, 'fetchFor'>, nowMs: () => number = Date.now) {
    super();
    const fetchKeys = outbound.fetchFor('issuer', LIMITS);
    this.byIssuer = new Map(
      issuers.map((issuer) => [issuer.issuer, { issuer, keys: new IssuerKeys(issuer, fetchKeys, nowMs) }]),
    );
  }

  override async verify(token: string): Promise<VerifiedToken> {
    const { header, claims } = read(token);
    const checked = typeof claims.iss === 'string' ? this.byIssuer.get(claims.iss) : undefined;
    if (!checked) throw new UnbelievableToken('unknown issuer');
    const { issuer, keys } = checked;
    assertHeader(header, issuer);
    const { payload } = await jwtVerify(token, (...asked) => keys.find(...asked), optionsOf(issuer)).catch(
      (error: unknown) => {
        throw reasonOf(error);
      },
    );
    const expiresAtMs = payload.exp! * 1000;
    // The tolerance is for tokens that begin a little later than now, not for those that are over.
    if (expiresAtMs <= Date.now()) throw new UnbelievableToken('expired');
    return { issuer, claims: payload, expiresAtMs };
  }
}

interface Checked {
  readonly issuer: Issuer;
  readonly keys: IssuerKeys;
}

function optionsOf(issuer: Issuer): JWTVerifyOptions {
  return {
    issuer: issuer.issuer,
    audience: [...issuer.audiences],
    algorithms: [...issuer.algorithms],
    clockTolerance: issuer.toleranceSeconds,
    requiredClaims: ['exp'],
  };
}

function read(token: string): { header: ProtectedHeaderParameters; claims: Claims } {
  try {
    if (token.length > MAX_TOKEN) throw new Error('too long');
    return { header: decodeProtectedHeader(token), claims: decodeJwt(token) };
  } catch {
    throw new UnbelievableToken('malformed');
  }
}

/** What can be told before a signature is looked at. */
function assertHeader(header: ProtectedHeaderParameters, { algorithms, typ }: Issuer): void {
  const hint = KEY_HINTS.find((name) => Object.hasOwn(header, name));
  if (hint !== undefined) throw new UnbelievableToken(`its header has ${hint}`);
  if (!algorithms.some((algorithm) => algorithm === header.alg)) throw new UnbelievableToken('another algorithm');
  const given = typeof header.typ === 'string' ? header.typ.toLowerCase().replace(/^application\//, '') : 'none';
  if (given !== typ.toLowerCase()) throw new UnbelievableToken('another typ');
}

type RemoteKeys = ReturnType<typeof createRemoteJWKSet>;

/** The keys of one issuer, asked for when they are needed, remembered, and asked for again when they may have changed. */
class IssuerKeys {
  private keys: Promise<RemoteKeys> | undefined;
  private pausedUntilMs = 0;

  constructor(
    private readonly issuer: Issuer,
    private readonly fetchKeys: typeof fetch,
    private readonly nowMs: () => number,
  ) {}

  readonly find: JWTVerifyGetKey = async (...asked) => {
    if (this.nowMs() < this.pausedUntilMs) return this.known(...asked);
    try {
      this.keys ??= this.open();
      return await (
        await this.keys
      )(...asked);
    } catch (error) {
      if (isMismatch(error)) throw error;
      this.pausedUntilMs = this.nowMs() + PAUSE_MS;
      if (!(await this.atHand())) this.keys = undefined;
      throw unreachable(error);
    }
  };

  /** While the issuer is left alone, what it gave out before goes on: nobody keeps others out by asking for what is not there. */
  private readonly known: JWTVerifyGetKey = async (...asked) => {
    const keys = await this.atHand();
    if (!keys) throw unreachable();
    return createLocalJWKSet(keys)(...asked).catch((error: unknown) => {
      throw isMismatch(error) ? unreachable(error) : error;
    });
  };

  /** The keys it gave out last, as long as they are believed. */
  private async atHand(): Promise<JSONWebKeySet | undefined> {
    const keys = await this.keys?.catch(() => undefined);
    return keys?.fresh === true ? keys.jwks() : undefined;
  }

  private async open(): Promise<RemoteKeys> {
    const url = new URL(this.issuer.jwksUri ?? (await this.discover()));
    return createRemoteJWKSet(url, {
      cacheMaxAge: KEYS_MS,
      cooldownDuration: UNKNOWN_KEY_MS,
      timeoutDuration: LIMITS.timeoutMs,
      [customFetch]: (target, init) => this.fetchKeys(target, init),
    });
  }

  /** OpenID Connect Discovery 1.0, 4: the document has to name the very issuer it was asked for (4.3). */
  private async discover(): Promise<string> {
    const url = `${this.issuer.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const answer = await this.fetchKeys(url, { headers: { accept: 'application/json' } });
    const { issuer, jwks_uri: keys } = (await answer.json()) as {
      readonly issuer?: unknown;
      readonly jwks_uri?: unknown;
    };
    if (!answer.ok || issuer !== this.issuer.issuer || typeof keys !== 'string')
      throw new Error('no discovery document of the issuer');
    return keys;
  }
}

function isMismatch(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ERR_JWKS_NO_MATCHING_KEY' || code === 'ERR_JWKS_MULTIPLE_MATCHING_KEYS';
}

function codeOf(error: unknown): string | undefined {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

function unreachable(cause?: unknown): DomainError {
  return new DomainError('unavailable', 'The issuer of the token cannot be asked for its keys at the moment.', {
    cause,
    retryAfterSeconds: 5,
  });
}

/** What jose found wrong. Its messages name claims and no values. */
function reasonOf(error: unknown): unknown {
  const code = codeOf(error);
  return code?.startsWith('ERR_J') ? new UnbelievableToken((error as Error).message) : error;
}
