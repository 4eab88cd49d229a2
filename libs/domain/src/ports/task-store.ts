import type { SessionStrategy } from '../agent.js';
import type { AuditEntry } from '../audit-entry.js';
import type { ArtifactBody, ConfirmationBody, Detail, ErrorBody, ResultBody, UsageBody } from '../event-table.js';
import type { FailureCode } from '../errors.js';
import type { ArtifactId, TaskId, TaskKey } from '../ids.js';
import type { StepProjection, ConfirmationProjection } from '../projection.js';
import type { TaskState } from '../state.js';
import type { BackendVersion } from './agent-store.js';
import type { EventDraft } from './event-log.js';

/** Whose tasks are meant: all of a tenant, or one principal's in it. */
export interface TaskScope {
  readonly tenant: string;
  /** Absent: the whole tenant (`tasks:all`). */
  readonly principal?: string;
}

/** A task to be made: one transaction of keys, task, head, first event, audit record and outbox row. */
export interface Submission {
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
  /** True when the caller chose `taskId`. */
  readonly ownTaskId: boolean;
  readonly idempotencyKey?: string;
  /** SHA-256 of the canonical body, compared when a key comes again; empty when the caller gave no key. */
  readonly bodyHash: Uint8Array;
  readonly tenant: string;
  readonly principal: string;
  readonly agentId: string;
  readonly type?: string;
  readonly userId?: string;
  /** With `userId`, else the principal, it names the session. */
  readonly sessionId?: string;
  /** For a session only; absent: `enqueue`. */
  readonly sessionStrategy?: SessionStrategy;
  /** The principal reaches the tasks of others, and so may join their sessions; default false. */
  readonly reachesOthers?: boolean;
  readonly backendVersionId: string;
  readonly runner: string;
  readonly pool: string;
  readonly detail: Detail;
  readonly priority: number;
  readonly deadlineAtMs: number;
  /** It does not run before somebody releases it, and ends if nobody has by then; absent: it is not held. */
  readonly heldUntilMs?: number;
  /** JSON text exactly as sent. */
  readonly input: string;
  /** JSON text exactly as sent. */
  readonly context: string;
  /** JSON text of the tools the caller runs itself (`ClientTool[]`); absent: none. */
  readonly clientTools?: string;
  /** Names of the server's tools its runs may call; absent: those of the backend's version. */
  readonly allowedTools?: readonly string[];
  /** The artifacts the input names, each once; absent: none. They are kept until the task has ended. */
  readonly inputArtifacts?: readonly ArtifactBody[];
  /** Where what becomes of it is to be told; absent: nowhere. */
  readonly callbackUrl?: string;
  readonly created: EventDraft;
  readonly audit: AuditEntry;
}

/**
 * `created`: made now. `existing`: the same request came before. `gone`: it did, and its
 * task was removed since. `conflict`: a key names something else. `foreign`: its
 * session is another principal's. `busy`: its session has an unfinished task and its strategy is `reject`. `elsewhere`: its session keeps another backend. Only
 * `created` left anything behind.
 */
export type SubmitOutcome =
  | CreatedOutcome
  | { readonly kind: 'existing'; readonly taskKey: TaskKey; readonly taskId: TaskId }
  | { readonly kind: 'gone' }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'foreign' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'elsewhere'; readonly backend: Pick<BackendVersion, 'id' | 'runner' | 'pool'> };

/** A task that was made. */
export interface CreatedOutcome {
  readonly kind: 'created';
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
  readonly atMs: number;
  /** `now`: its run may start. `later`: when its turn in the session comes, or somebody releases it. `over`: as well, others of the session are to end. */
  readonly turn: 'now' | 'later' | 'over';
}

/** The keys of a submission, for looking it up before anything may refuse it. */
export type SubmissionKeys = Pick<
  Submission,
  'tenant' | 'principal' | 'taskId' | 'ownTaskId' | 'idempotencyKey' | 'bodyHash'
>;

/** A task as stored. Times in ms since the epoch. */
export interface TaskSnapshot {
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
  readonly tenant: string;
  readonly sessionId: string | null;
  readonly type: string | null;
  readonly agentId: string;
  readonly backend: { readonly runner: string; readonly version: string };
  /** The queue its runs wait in. */
  readonly pool: string;
  readonly state: TaskState;
  readonly runNo: number;
  readonly runOpen: boolean;
  /** The runtime of the newest run. */
  readonly runtimeId: string | null;
  readonly lastSeq: number;
  readonly currentStep: string | null;
  readonly result: ResultBody | null;
  readonly usage: UsageBody | null;
  readonly error: ErrorBody | null;
  readonly pendingConfirmations: readonly ConfirmationProjection[];
  readonly waitId: string | null;
  readonly waitingOn: string | null;
  readonly blockedBy: TaskId | null;
  readonly stalled: boolean;
  readonly cancelRequested: boolean;
  readonly artifactCount: number;
  readonly lastHeartbeatAtMs: number | null;
  readonly lastProgressAtMs: number;
  readonly deadlineAtMs: number;
  /** Until when it waits to be released; null: it is not held. */
  readonly heldUntilMs: number | null;
  readonly priority: number;
  readonly detail: Detail;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly updatedAtMs: number;
  readonly finishedAtMs: number | null;
}

/** What a task was submitted with, as JSON text exactly as sent. */
export interface TaskRequest {
  readonly input: string;
  readonly context: string;
}

/** How a task was answered the last time. */
export interface RecordedDecision {
  readonly waitId: string;
  readonly decidedBy: string;
  readonly decidedAtMs: number;
  /** One for each item that was pending, in the order they were asked. */
  readonly decisions: readonly Readonly<Record<string, unknown>>[];
}

/** A task that somebody asks for. */
export interface AskedTask {
  readonly scope: TaskScope;
  readonly taskId: TaskId;
}

/** A task as somebody found it. */
export type SeenState = Pick<TaskSnapshot, 'taskKey' | 'taskId' | 'state' | 'lastSeq'>;

/** Which tasks to list; all that is given must hold. Times in ms since the epoch. */
export interface TaskFilter {
  readonly states?: readonly TaskState[];
  readonly agentId?: string;
  readonly type?: string;
  readonly sessionId?: string;
  /** Code of a failed task. */
  readonly errorCode?: FailureCode;
  readonly createdAfterMs?: number;
  readonly createdBeforeMs?: number;
}

/** Which tasks to list by when their state changed; all that is given must hold. */
export interface StateListFilter {
  readonly agentId: string;
  /** That of a task without a session is its id. */
  readonly sessionId?: string;
  readonly states?: readonly TaskState[];
  /** Whether a failed task was refused by its backend. */
  readonly isRejected?: boolean;
  /** Whether a waiting task waits for an authorization, or a decision, of these kinds. */
  readonly awaits?: { readonly kinds: readonly ConfirmationBody['kind'][]; readonly isAny: boolean };
  /** In ms since the epoch, inclusive. */
  readonly changedSinceMs?: number;
}

/** A page, and how many there are on all of them. */
export interface CountedPage<T> extends Page<T> {
  readonly total: number;
}

/** A page of a list; `cursor` is opaque and absent on the last page. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}

/** Which page of a list. `cursor` is the `nextCursor` of the page before, absent for the first. */
export interface PageRequest {
  /** 1 to 200. */
  readonly limit: number;
  readonly cursor?: string;
}

/** A stored artifact: what events say of it, and where it belongs. */
export interface ArtifactRecord extends ArtifactBody {
  /** Null: it was uploaded and belongs to no task. */
  readonly taskKey: TaskKey | null;
  readonly tenant: string;
  readonly createdAtMs: number;
}

/** Tasks and what hangs on them, for callers. Every query names its tenant. */
export abstract class TaskStore {
  abstract submit(submission: Submission): Promise<SubmitOutcome>;
  /** What the keys of a submission already name, if anything. */
  abstract find(keys: SubmissionKeys): Promise<SubmitOutcome | undefined>;
  /**
   * The last, in their order, of a principal's idempotency keys that begin with `prefix` and go on with `since` or more, in
   * digits of the hexadecimal system.
   */
  abstract newestKey(owner: Required<TaskScope>, prefix: string, since: string): Promise<string | undefined>;
  /** The caller's name for a task; undefined when there is none of this key. */
  abstract idOf(taskKey: TaskKey): Promise<TaskId | undefined>;
  /** `watcher` waits for the task from now on, unless it was given up. */
  abstract watch(taskKey: TaskKey, watcher: string): Promise<void>;
  /** Gives the task up, once, if `watcher` is the last who waits for it; undefined: nobody has come since it was submitted. */
  abstract giveUp(taskKey: TaskKey, watcher: string | undefined): Promise<boolean>;
  /** Undefined when unknown or outside the scope. @throws DomainError `gone` when it was pruned. */
  abstract snapshot(scope: TaskScope, taskId: TaskId): Promise<TaskSnapshot | undefined>;
  /** Which of these tasks there are, each in its own scope, in the order asked; undefined for those that are not. */
  abstract seen(asked: readonly AskedTask[]): Promise<readonly (SeenState | undefined)[]>;
  /** Newest first. @throws DomainError `invalid_request` for a cursor that is not ours. */
  abstract list(scope: TaskScope, filter: TaskFilter, page: PageRequest): Promise<Page<TaskSnapshot>>;
  /** Those first whose state changed last. All that match are looked at, since they are counted. */
  abstract listByState(
    scope: TaskScope,
    filter: StateListFilter,
    page: PageRequest,
  ): Promise<CountedPage<TaskSnapshot>>;
  /** What the task was submitted with; undefined when it is not there any more. */
  abstract request(taskKey: TaskKey): Promise<TaskRequest | undefined>;
  /** The newest answer to what the task waited for; undefined when there never was one. */
  abstract lastDecision(taskKey: TaskKey): Promise<RecordedDecision | undefined>;
  /** Oldest first. */
  abstract steps(taskKey: TaskKey, page: PageRequest): Promise<Page<StepProjection>>;
  /** Oldest first. */
  abstract artifacts(taskKey: TaskKey, page: PageRequest): Promise<Page<ArtifactRecord>>;
  /** Of a task in the scope, or uploaded by its principal (without one: by anybody of the tenant). */
  abstract artifact(scope: TaskScope, artifactId: ArtifactId): Promise<ArtifactRecord | undefined>;
  /** Whoever's it is: only for a link whose signature was verified, which stands for the tenant. */
  abstract linkedArtifact(artifactId: ArtifactId): Promise<ArtifactRecord | undefined>;
}
