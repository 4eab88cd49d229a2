import { type ConsumeOptions, type RunConsumer, type RunJob, RunQueue } from '#lib/domain';
import { decodeRunJob, encodeRunJob, queueName, runJobId } from '../jobs.js';
import type { QueueAccess } from './queue.access.js';

/** The queue in front of the runtimes, over BullMQ with either back end. */
export class BullMqQueue extends RunQueue {
  constructor(private readonly access: QueueAccess) {
    super();
  }

  /** @throws DomainError `unavailable` within about a second when the jobs may not have been added. */
  override add(jobs: readonly RunJob[]): Promise<void> {
    const nowMs = Date.now();
    return this.access.add(jobs.map((job) => ({ ...placeOf(job), json: encodeRunJob(job, nowMs) })));
  }

  override remove(jobs: readonly RunJob[]): Promise<void> {
    return this.access.remove(jobs.map(placeOf));
  }

  override consume({ pool, slots }: ConsumeOptions, handle: (job: RunJob) => Promise<void>): Promise<RunConsumer> {
    return this.access.consume({ queue: queueName(pool), slots }, (job) => handle(decodeRunJob(pool, job)));
  }

  override depth(pool: string): Promise<number> {
    return this.access.depth(queueName(pool));
  }

  override close(): Promise<void> {
    return this.access.close();
  }
}

function placeOf(job: RunJob): { readonly queue: string; readonly id: string } {
  return { queue: queueName(job.pool), id: runJobId(job) };
}
