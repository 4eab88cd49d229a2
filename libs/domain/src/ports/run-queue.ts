import type { RunJob } from './run-store.js';

/** A running consumer of one pool. */
export abstract class RunConsumer {
  /** Takes no more jobs; resolves when none is being handed out. */
  abstract pause(): Promise<void>;
  abstract close(): Promise<void>;
}

/** What a consumer takes. */
export interface ConsumeOptions {
  readonly pool: string;
  /** Jobs handled at once, 1 to 1,000. */
  readonly slots: number;
}

/**
 * The queue in front of the runtimes. It only wakes: losing a job costs latency, a job twice meets the claim's compare-and-set.
 * Tenants get their turns in rounds, so that who comes with one task does not wait for another's thousands.
 */
export abstract class RunQueue {
  /** Adds in bulk; a job (task, run) that is already there is left alone. */
  abstract add(jobs: readonly RunJob[]): Promise<void>;
  /** Adds jobs that are most likely there: what their tenants add after them is not set back by it. */
  abstract restore(jobs: readonly RunJob[]): Promise<void>;
  /** Takes a job that has not started out of the queue; no error when it is not there. */
  abstract remove(jobs: readonly RunJob[]): Promise<void>;
  /** `handle` never rejects for business reasons; a rejection is logged and the job dropped (the outbox re-adds it). */
  abstract consume(options: ConsumeOptions, handle: (job: RunJob) => Promise<void>): Promise<RunConsumer>;
  /** Jobs waiting or delayed in a pool. */
  abstract depth(pool: string): Promise<number>;
  abstract close(): Promise<void>;
}
