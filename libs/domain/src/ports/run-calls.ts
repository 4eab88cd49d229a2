import type { TaskId, TaskKey } from '../ids.js';
import type { TaskState } from '../state.js';
import type { AskedCall, RunPolicy } from './run-store.js';

/** How a task's newest run stands now, by the database. */
export interface RunStanding {
  readonly runNo: number;
  readonly runOpen: boolean;
  readonly state: TaskState;
  readonly runtimeId: string | null;
  /** Its runtime has given a sign of life in time. */
  readonly isLeased: boolean;
  readonly cancelRequested: boolean;
  /** In ms since the epoch. */
  readonly deadlineAtMs: number;
}

/** What a run may call, and what tools may know of it. */
export interface CallTerms {
  readonly taskId: TaskId;
  readonly tenant: string;
  readonly agentId: string;
  readonly createdBy: string;
  /** Kind of the runner, which artifacts name as their origin. */
  readonly runner: string;
  readonly backendVersion: string;
  readonly policy: RunPolicy;
  readonly allowedTools: readonly string[];
  /** JSON text exactly as sent. */
  readonly input: string;
  /** JSON text exactly as sent. */
  readonly context: string;
  /** The tool calls that the last answer was about. */
  readonly asked: readonly AskedCall[];
}

/** A call that somebody with the run's token wants to make. */
export interface CallRequest {
  readonly taskKey: TaskKey;
  readonly runNo: number;
  readonly toolCallId: string;
  readonly toolName: string;
  /** Of tool and arguments. */
  readonly digest: string;
  /** Who makes it, unique in the world (a UUID). */
  readonly owner: string;
  /** How long nobody else may make it, in ms. */
  readonly holdMs: number;
  /** Calls that the run may make. */
  readonly most: number;
}

/**
 * `taken`: it is ours to make; `wasAnnounced` when somebody who had it before may have made it and left no answer.
 * `answered`: it was made. `busy`: somebody else is at it. `conflict`: the id names another call. `exhausted`: the run may make
 * no more. `over`: the run is not live.
 */
export type CallReservation =
  | { readonly kind: 'taken'; readonly wasAnnounced: boolean }
  | { readonly kind: 'answered'; readonly answer: string }
  | { readonly kind: 'busy' | 'conflict' | 'exhausted' | 'over' };

/** Runs as those with their tokens see them, and the tool calls these make: each id once, whichever gateway it comes to. */
export abstract class RunCalls {
  /** One look-up by key. Undefined when there is no such task. */
  abstract standing(taskKey: TaskKey): Promise<RunStanding | undefined>;
  /** Undefined when there is no such task. */
  abstract terms(taskKey: TaskKey): Promise<CallTerms | undefined>;
  abstract reserve(request: CallRequest): Promise<CallReservation>;
  /** Gives back a call that was not announced. */
  abstract release(request: Pick<CallRequest, 'taskKey' | 'toolCallId' | 'owner'>): Promise<void>;
}
