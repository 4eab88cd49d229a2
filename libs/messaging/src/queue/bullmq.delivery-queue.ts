import { DeliveryQueue, type LaneJob, type RunConsumer } from '#lib/domain';
import { decodeLaneJob, DELIVERIES, encodeLaneJob, laneJobId } from '../jobs.js';
import type { QueueAccess } from './queue.access.js';

/** The queue in front of the deliveries of webhooks, over BullMQ with either back end. */
export class BullMqDeliveryQueue extends DeliveryQueue {
  constructor(private readonly access: QueueAccess) {
    super();
  }

  override add(jobs: readonly LaneJob[]): Promise<void> {
    const nowMs = Date.now();
    return this.access.add(
      jobs.map((job) => ({ queue: DELIVERIES, id: laneJobId(job), json: encodeLaneJob(job, nowMs) })),
    );
  }

  override consume(slots: number, handle: (job: LaneJob) => Promise<void>): Promise<RunConsumer> {
    return this.access.consume({ queue: DELIVERIES, slots }, (job) => handle(decodeLaneJob(job)));
  }
}
