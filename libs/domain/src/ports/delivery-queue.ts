import type { RunConsumer } from './run-queue.js';

/** A wish to work off a lane. Its `slot` tells wishes of one lane apart: as many as may work on it at once. */
export interface LaneJob {
  readonly lane: string;
  /** From 0. */
  readonly slot: number;
  /** Whose lane it is. */
  readonly tenant: string;
}

/** The queue in front of the deliveries of webhooks. It only wakes: losing a job costs latency, a job twice meets the claim. */
export abstract class DeliveryQueue {
  /** A job (lane, slot) that waits or is being worked on is left alone. @throws DomainError `unavailable` */
  abstract add(jobs: readonly LaneJob[]): Promise<void>;
  /** At most `slots` at once; a rejection of `handle` is logged and the job dropped. */
  abstract consume(slots: number, handle: (job: LaneJob) => Promise<void>): Promise<RunConsumer>;
}
