import type { TaskId, TaskKey } from '../ids.js';

/**
 * What a task token opens beside the tools it names: `runtime:tools` lists and calls them, `runtime:token` renews it and
 * asks about it. A token for a tool server has neither.
 */
export const TASK_TOKEN_SCOPES = ['runtime:tools', 'runtime:token'] as const;
/** One of them. */
export type TaskTokenScope = (typeof TASK_TOKEN_SCOPES)[number];

/** The run a token stands for, and on whose behalf it acts: `principal` asked, `agentId` works, `runtimeId` hosts it. */
export interface TokenRun {
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
  readonly runNo: number;
  readonly tenant: string;
  readonly principal: string;
  readonly agentId: string;
  readonly runtimeId: string;
  readonly sessionId?: string;
  /** Names of the tools it may call; none beside them. */
  readonly tools: readonly string[];
}

/** What a token is to be made for. */
export interface TokenTerms extends TokenRun {
  /** In ms since the epoch; no token outlives it. */
  readonly deadlineAtMs: number;
  /** Who is to accept it; absent: the runtime API. */
  readonly audience?: string;
}

/** What a genuine token says. Times in ms since the epoch. Whether its run still lives is another question. */
export interface TaskGrant extends TokenRun {
  readonly tokenId: string;
  readonly audience: string;
  readonly scopes: readonly TaskTokenScope[];
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
}

/** A token and the end of its life, in ms since the epoch. */
export interface MintedToken {
  readonly token: string;
  readonly expiresAtMs: number;
}

/** The public halves of the keys that sign tokens (RFC 7517), the signing one first. */
export interface JsonWebKeySet {
  readonly keys: readonly Readonly<Record<string, string>>[];
}

/** Makes task tokens and tells genuine ones: signed JWTs (RFC 7519) with an `act` chain (RFC 8693, 4.1). */
export abstract class TaskTokens {
  /** @throws DomainError `unauthenticated` when the deadline has passed */
  abstract mint(terms: TokenTerms): Promise<MintedToken>;
  /**
   * `any`: whoever it was made for, which is for those only who are asked about a token and do not act on it.
   * @throws DomainError `unauthenticated` for everything that is not a token of ours in the time of its life
   */
  abstract verify(token: string, audience: 'runtime' | 'any'): Promise<TaskGrant>;
  abstract publicKeys(): JsonWebKeySet;
  /** True when the text claims to be a task token, genuine or not. */
  abstract claimsToBe(credential: string): boolean;
}
