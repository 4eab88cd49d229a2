import type { TaskId } from '../ids.js';

/**
 * A stretch of a task under the name a caller gave it: from the beginning, or from the answer to a wait, to the event that
 * stops the task to wait or ends it. Where it stops is in the log.
 */
export interface ThreadRun {
  readonly runId: string;
  readonly taskId: TaskId;
  /** Of its first event. */
  readonly firstSeq: number;
  /** The wait it is the answer to; absent: it is the task's first stretch. */
  readonly waitId?: string;
  /** SHA-256 of the canonical request, compared when the name comes again. */
  readonly requestHash: Uint8Array;
  /** SHA-256 of the canonical answers: they may come again under another name. */
  readonly answersHash?: Uint8Array;
  /** Version of the wire it was asked for in, as the caller spelt it. */
  readonly wireVersion?: string;
}

/** A conversation of runs that never overlap. It belongs to the principal who began it. */
export interface Thread {
  readonly principal: string;
  /** The newest of its runs. */
  readonly newest?: ThreadRun;
  /** The run that was asked for. */
  readonly run?: ThreadRun;
}

/** One thread of a tenant, by the name its caller gave it. */
export interface ThreadName {
  readonly tenant: string;
  readonly threadId: string;
}

/** A run before there is anything of it. `principal`: whose the thread is if it is new. */
export interface NewThreadRun extends ThreadRun, ThreadName {
  readonly principal: string;
  /** Ids of the messages it takes as its input. */
  readonly messageIds: readonly string[];
}

/** `made`: it is in place. `known`: a run of this name was before. `busy`: another task of the thread has not ended. */
export type ThreadReservation =
  | { readonly kind: 'made' }
  | { readonly kind: 'known'; readonly run: ThreadRun }
  /** `foreign`: the thread, or the task of that name, is somebody else's. */
  | { readonly kind: 'busy' | 'foreign' };

/** The runs of conversations, for wires whose callers name both. Every query names its tenant. */
export abstract class ThreadStore {
  /** Undefined when there is no such thread. */
  abstract find(name: ThreadName, runId?: string): Promise<Thread | undefined>;
  /** The oldest first, at most 1,000. */
  abstract runs(name: ThreadName): Promise<readonly ThreadRun[]>;
  /** The run that gave just these answers, if one did. */
  abstract answered(name: ThreadName, answersHash: Uint8Array): Promise<ThreadRun | undefined>;
  /** Which of the messages other runs of the thread have taken as input. */
  abstract heard(name: ThreadName, runId: string, messageIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Puts a run in its place, unless another task of the thread has not ended; one at a time per thread. */
  abstract reserve(run: NewThreadRun): Promise<ThreadReservation>;
  /** Takes back a reservation that came to nothing. */
  abstract release(name: ThreadName, runId: string): Promise<void>;
}
