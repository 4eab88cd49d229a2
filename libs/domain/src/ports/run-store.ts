import type { Budgets, ConfirmationSeconds } from '../agent.js';
import type { ArtifactBody, Detail } from '../event-table.js';
import type { StoredEvent } from '../envelope.js';
import type { StepProjection } from '../projection.js';
import type { EventId, TaskId, TaskKey } from '../ids.js';
import type { ToolLimits, ToolPolicy } from '../tool-policy.js';
import type { BlobReference } from './blob-store.js';
import type { DispatchReason } from './event-log.js';

/** A wish to start run `runNo` of a task. */
export interface RunJob {
  readonly taskKey: TaskKey;
  readonly runNo: number;
  /** Those of a tenant wait for each other before they wait for those of others. */
  readonly tenant: string;
  readonly pool: string;
  /** 0 to 9; 9 runs first. */
  readonly priority: number;
  readonly delayMs: number;
}

/** A job, and the id of the event that claiming its run will write. */
export interface ClaimRequest {
  readonly job: RunJob;
  readonly eventId: EventId;
}

/** A tool call somebody decided about; `digest` names the tool and its arguments, as they were shown. */
export interface AskedCall {
  readonly toolCallId: string;
  readonly toolName: string | null;
  readonly digest: string;
  /** JSON text of the entry in `task.resumed`. */
  readonly decision: string;
  readonly waitId: string;
  readonly decidedBy: string;
  /** The tool call the approval was used for. */
  readonly usedBy: string | null;
}

/** A run that was won: everything the executor needs, read in the statement that claimed it. */
export interface Claim {
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
  readonly runNo: number;
  readonly tenant: string;
  readonly agentId: string;
  readonly type: string | null;
  readonly sessionId: string | null;
  readonly userId: string | null;
  readonly createdBy: string;
  readonly runner: string;
  /** The backend version the task is pinned to; its policy never changes. */
  readonly backendVersion: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly policy: RunPolicy;
  readonly detail: Detail;
  readonly deadlineAtMs: number;
  /** JSON text exactly as sent. */
  readonly input: string;
  /** JSON text exactly as sent. */
  readonly context: string;
  /** JSON text of the tools the caller runs itself (`ClientTool[]`). */
  readonly clientTools: string | null;
  /** Names of the server's tools the run may call: what the agent, the route and the caller allow. */
  readonly allowedTools: readonly string[];
  /** The artifacts the input names, as they were when the task was submitted. */
  readonly inputArtifacts: readonly ArtifactBody[];
  /** JSON text of the newest checkpoint. */
  readonly checkpoint: string | null;
  /** JSON text of what the session remembers; null without a session, and in its first task. */
  readonly conversation: string | null;
  /** JSON text of the answer this run follows. */
  readonly answer: string | null;
  /** The tool calls that the last answer was about. */
  readonly asked: readonly AskedCall[];
  /** Every step of earlier runs, as it stands after the claim. */
  readonly steps: readonly StepProjection[];
  /** The newest 1,000 artifacts of earlier runs. */
  readonly artifacts: readonly ArtifactBody[];
  /** What is saved of the workspace. */
  readonly workspace: BlobReference | null;
  readonly reason: DispatchReason;
  /** From the dispatch: 1 for the first run and for one that follows an answer. */
  readonly attempt: number;
  /** What the claim wrote: `task.started` or `task.retrying`. */
  readonly event: StoredEvent;
  readonly cancelAtMs?: number;
  /** The task counts as stalled: it had waited too long for this. */
  readonly stalled: boolean;
}

/** The part of an agent's policy that travels with a backend version. Seconds. */
export interface RunPolicy {
  readonly onLost: 'resume' | 'restart' | 'fail';
  readonly maxRuns: number;
  readonly retries: { readonly attempts: number; readonly firstDelaySeconds: number; readonly maxDelaySeconds: number };
  readonly graceSeconds: number;
  readonly stallSeconds: number;
  /** Absent in versions from before it could be set: 60. */
  readonly heartbeatSeconds?: number;
  /** How long each kind of item waits for its answer; absent in versions that are older than the field: a day. */
  readonly confirmationSeconds?: ConfirmationSeconds;
  readonly budgets: Budgets;
  readonly tools: readonly string[];
  /** Absent: every tool of the list is allowed. */
  readonly toolPolicy?: ToolPolicy;
  readonly toolLimits?: ToolLimits;
}

/** A run whose lease ran out. */
export interface LostRun {
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
  readonly runNo: number;
  readonly tenant: string;
  readonly pool: string;
  readonly priority: number;
  readonly policy: RunPolicy;
  readonly runner: string;
  readonly hasCheckpoint: boolean;
  readonly cancelRequested: boolean;
  readonly consecutiveLost: number;
  /** 1-based number of the attempt the lost run was. */
  readonly attempt: number;
}

/** A job nobody has claimed yet. */
export interface DueJob extends RunJob {
  readonly taskId: TaskId;
  /** The task counts as stalled already, for whatever reason. */
  readonly stalled: boolean;
  /** It has been without progress for as long as its agent bears, and is not shown to wait for a worker yet. */
  readonly isOverlong: boolean;
}

/** A task whose time is up. */
export interface DueTask {
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
  readonly state: 'queued' | 'running' | 'waiting_for_input';
  readonly runNo: number;
  readonly runOpen: boolean;
  readonly runtimeId: string | null;
  readonly stalled: boolean;
}

/** A task that nobody answered in time. */
export interface ExpiredWait {
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
  /** The run that stopped to wait. */
  readonly runNo: number;
}

/** A task that nobody released in time. */
export type ExpiredHold = Pick<DueTask, 'taskKey' | 'taskId'>;

/** Runs, their leases and the outbox: the queue only wakes, these rows decide. */
export abstract class RunStore {
  /** Compare-and-set per job, one statement for all; jobs that lost are missing from the answer. */
  abstract claim(
    requests: readonly ClaimRequest[],
    runtime: { readonly id: string; readonly leaseMs: number },
  ): Promise<readonly Claim[]>;
  /**
   * Outbox rows that are due, pushed back (2, 10, 30 s, sooner where the task is about to count as stalled) in the same
   * statement; at most `limit`.
   */
  abstract dueJobs(limit: number): Promise<readonly DueJob[]>;
  /** How many outbox rows are due; not counted beyond `limit`. */
  abstract countDue(limit: number): Promise<number>;
  /** Runs past their lease, at most `limit`; closing them is the caller's append. */
  abstract lostRuns(limit: number): Promise<readonly LostRun[]>;
  /** Tasks past their deadline, at most `limit`. */
  abstract overdueTasks(limit: number): Promise<readonly DueTask[]>;
  /** Tasks that wait for an answer whose time is up, at most `limit`. */
  abstract expiredWaits(limit: number): Promise<readonly ExpiredWait[]>;
  /** Tasks that are held for longer than they may be, at most `limit`. */
  abstract expiredHolds(limit: number): Promise<readonly ExpiredHold[]>;
}
