import type { AuditEntry } from '../audit-entry.js';
import type { ErrorBody, EventBody, EventType } from '../event-table.js';
import type { StoredEvent } from '../envelope.js';
import type { EventId, TaskId, TaskKey } from '../ids.js';
import type { TaskState } from '../state.js';
import type { BlobReference } from './blob-store.js';

/** An event ready to be stored: `json` is its payload's JSON text, at most PAYLOAD_MAX_BYTES. */
export interface EventDraft {
  readonly eventId: EventId;
  readonly body: EventBody;
  readonly json: string;
}

/** Holds while the run is the live one and has appended exactly `runPos` events; the event its claim wrote does not count. */
export interface RunGuard {
  readonly kind: 'run';
  readonly runNo: number;
  readonly runPos: number;
  /** No cancel may have been asked: a run that stops so that another goes on must not leave one behind unheard. */
  readonly cancelRequested?: false;
}

/** Holds while the task is in one of these states; the optional conditions must hold as well. */
export interface ControlGuard {
  readonly kind: 'control';
  readonly from: readonly TaskState[];
  readonly runOpen?: boolean;
  readonly runNo?: number;
  /** The wait must be this one and not have expired. */
  readonly waitId?: string;
  /** Whether the run's lease must have run out, or must not. */
  readonly leaseExpired?: boolean;
  /** Whether the task counts as stalled. */
  readonly stalled?: boolean;
  /** Whether a cancel was asked. */
  readonly cancelRequested?: boolean;
  /** Whether it must wait to be released. */
  readonly held?: boolean;
}

/** Events of one task that go in together or not at all. Batches hold at most one append per task. */
export interface Append {
  readonly taskKey: TaskKey;
  readonly guard: RunGuard | ControlGuard;
  readonly events: readonly EventDraft[];
  /** JSON text; replaces the task's checkpoint in the same statement, and ends the answer: what it said is in there. */
  readonly checkpoint?: string;
  /** JSON text of a `TaskAnswer`, given to the runs that follow until one of them stores a checkpoint. */
  readonly answer?: string;
  /** JSON text; becomes the input of a task that was submitted with an empty one. With `task.released` only. */
  readonly input?: string;
  /** Replaces what is saved of the task's workspace, in the same statement; null drops it. */
  readonly workspace?: BlobReference | null;
  /** An outbox row for run `runNo` written in the same statement; it closes the run before. `events` may then be empty. */
  readonly dispatch?: Dispatch;
  /** The task belongs to a session. Control appends need not say so. */
  readonly session?: SessionEnd;
  /** Who wanted this, or what was decided on the way, recorded in the same statement. */
  readonly audit?: readonly AuditEntry[];
  /** What these events say of a call that is made with the run's token; with a control guard only. */
  readonly call?: CallRecord;
}

/** A call of `RunCalls` that is announced, or has come to something. Of no effect when another `owner` has it by now. */
export interface CallRecord {
  readonly toolCallId: string;
  readonly owner: string;
  /** JSON text; absent: it goes out now. */
  readonly answer?: string;
}

/** What a task leaves to its session. */
export interface SessionEnd {
  /** JSON text that the session's next task is given; only with the terminal event. Absent: what there is stays. */
  readonly conversation?: string;
}

/** Why a run is to start; `task.started` follows the first two, `task.retrying` the others. */
export type DispatchReason = 'submitted' | 'resumed' | 'lost' | 'error' | 'handover';

/** The next run of a task, asked for by the append that ends the one before. */
export interface Dispatch {
  readonly runNo: number;
  readonly reason: DispatchReason;
  readonly delayMs: number;
  /** What ended the run before, shown by `task.retrying`. */
  readonly error?: ErrorBody;
  /** 1-based number of the attempt that run is; starts again at 1 after an answer. Absent: 1. */
  readonly attempt?: number;
}

/** Where an append landed. */
export interface Appended {
  readonly taskKey: TaskKey;
  /** The first event got `baseSeq + 1`. */
  readonly baseSeq: number;
  readonly atMs: number;
  /** When a cancel was asked; absent if none was. */
  readonly cancelAtMs?: number;
  readonly stalled: boolean;
}

/** How large a page may be; whichever bound is met first ends it. */
export interface PageLimits {
  /** 1 to 500. */
  readonly maxEvents: number;
  readonly maxBytes: number;
}

/** The append-only log of every task. */
export abstract class EventLog {
  /**
   * One statement for the whole batch. A task whose guard fails is missing from the answer; the others commit.
   * @throws UnavailableError when the outcome is unknown or trying again makes sense; any other error means that
   * nothing of the batch was stored.
   */
  abstract append(batch: readonly Append[]): Promise<readonly Appended[]>;
  /** Events after `afterSeq`, in order; at least one if there is one, even when it alone passes `maxBytes`. */
  abstract page(taskKey: TaskKey, afterSeq: number, limits: PageLimits): Promise<readonly StoredEvent[]>;
  /** `last_seq` and state of each task that exists. */
  abstract tails(taskKeys: readonly TaskKey[]): Promise<ReadonlyMap<TaskKey, Tail>>;
  /** Where events landed; those that are not stored are missing. Asked after an append whose outcome is unknown. */
  abstract locate(events: readonly EventReference[]): Promise<ReadonlyMap<EventId, EventPlace>>;
  /** What is saved of the workspaces of tasks; those without are missing. */
  abstract workspaces(taskKeys: readonly TaskKey[]): Promise<ReadonlyMap<TaskKey, BlobReference>>;
  /** The events of these types, in order. */
  abstract select(taskKey: TaskKey, types: readonly EventType[]): Promise<readonly StoredEvent[]>;
  /** The seq of an event of this task. */
  abstract seqOf(taskKey: TaskKey, eventId: EventId): Promise<number | undefined>;
}

/** An event by its id. */
export interface EventReference {
  readonly taskKey: TaskKey;
  readonly eventId: EventId;
}

/** Where an event landed and when, in ms since the epoch by the database. */
export interface EventPlace {
  readonly seq: number;
  readonly atMs: number;
}

/** The end of a task's log. */
export interface Tail {
  readonly taskId: TaskId;
  readonly lastSeq: number;
  readonly state: TaskState;
}
