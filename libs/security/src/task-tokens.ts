import {
  DomainError,
  type JsonWebKeySet,
  type MintedToken,
  TASK_TOKEN_SCOPES,
  type TaskGrant,
  type TaskId,
  type TaskKey,
  TaskTokens,
  type TaskTokenScope,
  type TokenTerms,
} from '#lib/domain';
import { decodeProtectedHeader, type JWTHeaderParameters, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { randomUUID } from 'node:crypto';
import type { TokenKey, TokenKeys } from './token-keys.js';

/** The one algorithm and the one type of our tokens: nothing else is looked at. */
const ALGORITHM = 'EdDSA';
const TYPE = 'task+jwt';
/** Members of the header. A token that names keys or wants extensions understood (`jku`, `jwk`, `x5u`, `crit`) is none. */
const HEADER: ReadonlySet<string> = new Set(['alg', 'typ', 'kid']);
/** Clocks of processes may differ by so much, in seconds. */
const SKEW_SECONDS = 5;
/** Longer than any token with a thousand tools. */
const MAX_LENGTH = 65_536;

export interface TaskTokenOptions {
  /** `iss` of every token. */
  readonly issuer: string;
  readonly lifeMs: number;
  readonly nowMs?: () => number;
}

/** Task tokens as JWTs: signed with the first key, verified with the one their `kid` names. */
export class JwtTaskTokens extends TaskTokens {
  /** `aud` of tokens for the runtime API. */
  readonly audience: string;
  private readonly keys: ReadonlyMap<string, TokenKey>;
  private readonly nowMs: () => number;

  constructor(
    private readonly order: TokenKeys,
    private readonly options: TaskTokenOptions,
  ) {
    super();
    this.audience = `${options.issuer}/v1/runtime`;
    this.keys = new Map(order.map((key) => [key.id, key]));
    this.nowMs = options.nowMs ?? Date.now;
  }

  override async mint({ deadlineAtMs, ...terms }: TokenTerms): Promise<MintedToken> {
    const issuedAt = Math.floor(this.nowMs() / 1_000);
    const expiresAt = Math.floor(Math.min(this.nowMs() + this.options.lifeMs, deadlineAtMs) / 1_000);
    if (expiresAt <= issuedAt) throw refused();
    const [key] = this.order;
    const token = await new SignJWT(this.claimsOf(terms))
      .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid: key.id })
      .setIssuedAt(issuedAt)
      .setNotBefore(issuedAt)
      .setExpirationTime(expiresAt)
      .sign(key.privateKey);
    return { token, expiresAtMs: expiresAt * 1_000 };
  }

  override async verify(token: string, audience: 'runtime' | 'any'): Promise<TaskGrant> {
    if (token.length > MAX_LENGTH) throw refused();
    const { payload } = await jwtVerify(token, (header) => this.keyOf(header), {
      algorithms: [ALGORITHM],
      typ: TYPE,
      issuer: this.options.issuer,
      requiredClaims: ['aud', 'sub', 'jti', 'iat', 'nbf', 'exp'],
      clockTolerance: SKEW_SECONDS,
      currentDate: new Date(this.nowMs()),
      ...(audience === 'any' ? {} : { audience: this.audience }),
    }).catch((cause: unknown) => {
      throw refused(cause);
    });
    return decodeGrant(payload);
  }

  override publicKeys(): JsonWebKeySet {
    return {
      keys: this.order.map(({ id, publicKey }) => {
        const { kty, crv, x } = publicKey.export({ format: 'jwk' }) as Record<'kty' | 'crv' | 'x', string>;
        return { kty, crv, x, kid: id, use: 'sig', alg: ALGORITHM };
      }),
    };
  }

  override claimsToBe(credential: string): boolean {
    try {
      return decodeProtectedHeader(credential).typ === TYPE;
    } catch {
      return false;
    }
  }

  private keyOf(header: Partial<JWTHeaderParameters>): TokenKey['publicKey'] {
    const key = this.keys.get(header.kid ?? '');
    if (!key || Object.keys(header).some((name) => !HEADER.has(name))) throw refused();
    return key.publicKey;
  }

  private claimsOf(run: Omit<TokenTerms, 'deadlineAtMs'>): JWTPayload {
    const { taskKey, taskId, runNo, tenant, principal, agentId, runtimeId, sessionId, tools } = run;
    return {
      iss: this.options.issuer,
      aud: run.audience ?? this.audience,
      sub: principal,
      jti: randomUUID(),
      tenant,
      task_id: taskId,
      task_key: taskKey,
      run_no: runNo,
      agent_id: agentId,
      ...(sessionId === undefined ? {} : { session_id: sessionId }),
      tools,
      scope: run.audience === undefined ? TASK_TOKEN_SCOPES.join(' ') : '',
      // The runtime acts now, for the agent, for the one who asked (RFC 8693, 4.1: the latest actor is outermost).
      act: { sub: runtimeId, act: { sub: agentId } },
    };
  }
}

function decodeGrant(payload: JWTPayload): TaskGrant {
  const { sessionId, ...claims } = claimsIn(payload);
  const isWhole =
    Object.values(claims).every((value) => typeof value === 'string') &&
    Number.isSafeInteger(payload['run_no']) &&
    Array.isArray(payload['tools']) &&
    payload['tools'].every((tool) => typeof tool === 'string');
  if (!isWhole) throw refused();
  const { scope, taskId, taskKey, ...texts } = claims as Record<keyof typeof claims, string>;
  return {
    ...texts,
    taskId: taskId as TaskId,
    taskKey: taskKey as TaskKey,
    ...(typeof sessionId === 'string' ? { sessionId } : {}),
    runNo: payload['run_no'] as number,
    tools: payload['tools'] as readonly string[],
    scopes: scope.split(' ').filter(isTaskTokenScope),
    issuedAtMs: (payload.iat ?? 0) * 1_000,
    expiresAtMs: (payload.exp ?? 0) * 1_000,
  };
}

function claimsIn({ sub, jti, aud, ...payload }: JWTPayload) {
  return {
    principal: sub,
    tokenId: jti,
    audience: aud,
    tenant: payload['tenant'],
    taskId: payload['task_id'],
    taskKey: payload['task_key'],
    agentId: payload['agent_id'],
    runtimeId: (payload['act'] as { readonly sub?: unknown } | undefined)?.sub,
    scope: payload['scope'],
    sessionId: payload['session_id'],
  };
}

function isTaskTokenScope(value: string): value is TaskTokenScope {
  return (TASK_TOKEN_SCOPES as readonly string[]).includes(value);
}

/** One answer for every reason: which part was wrong is nobody's business. */
function refused(cause?: unknown): DomainError {
  return new DomainError('unauthenticated', 'The task token is not valid, or its run is over.', { cause });
}
