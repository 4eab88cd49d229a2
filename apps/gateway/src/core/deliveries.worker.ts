import {
  type ClaimedDelivery,
  type DeliveryQueue,
  type DeliveryStore,
  type DueLane,
  judgeAttempt,
  type LaneJob,
  type Logger,
  type Metrics,
  type RunConsumer,
} from '#lib/domain';
import type { Sweep } from '#lib/execution';
import type { DeliverySender } from './delivery.sender.js';

export interface DeliveryPorts {
  readonly deliveries: DeliveryStore;
  readonly deliveryQueue: DeliveryQueue;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface DeliveryOptions {
  /** Between attempts, in ms: after the first, the second, and so on. */
  readonly retryMs: readonly number[];
}

/** Attempts at once in this process. They mostly wait for receivers. */
const SLOTS = 128;
/** Attempts at once to one lane, over all gateways. */
const LANE_SLOTS = 4;
/** Attempts at once of one tenant in this process: whoever has many slow receivers leaves others their share. */
const TENANT_SLOTS = 48;
/** Lanes looked at in one statement. */
const LANES = 500;
/** How long a job stays with its lane before others in the queue get their turn. */
const TURN_MS = 5_000;

/**
 * Works off what is due to webhooks and callbacks. The sweep finds lanes with something due and wishes for work in the
 * queue; whoever gets such a job claims one delivery after the other. Where the queue is away, the sweep works itself.
 */
export class DeliveriesWorker implements Sweep {
  readonly name = 'deliveries';
  readonly everyMs = 1_000;
  private readonly stopping = new AbortController();
  private readonly working = new Map<string, Promise<void>>();
  private readonly perTenant = new Map<string, number>();
  private consumer: RunConsumer | undefined;
  private isClosing = false;

  constructor(
    private readonly ports: DeliveryPorts,
    private readonly sender: DeliverySender,
    private readonly options: DeliveryOptions,
  ) {}

  async start(): Promise<void> {
    this.consumer = await this.ports.deliveryQueue.consume(SLOTS, (job) => this.workOn(job));
  }

  /** Wishes for work on every lane that has something due. */
  async runOnce(): Promise<void> {
    let after = '';
    for (;;) {
      const lanes = await this.ports.deliveries.dueLanes(after, { lanes: LANES, perLane: LANE_SLOTS });
      const jobs = lanes.flatMap(jobsOf);
      if (jobs.length > 0) await this.wish(jobs);
      if (lanes.length < LANES) return;
      after = lanes.at(-1)!.lane;
    }
  }

  /** Takes no more; what is under way may go on for so long, and is then cut off and due again at once. */
  async close(graceMs: number): Promise<void> {
    await this.consumer?.pause();
    const cut = setTimeout(() => this.stopping.abort(), graceMs);
    this.isClosing = true;
    await Promise.all(this.working.values());
    clearTimeout(cut);
    this.stopping.abort();
  }

  private async wish(jobs: readonly LaneJob[]): Promise<void> {
    try {
      await this.ports.deliveryQueue.add(jobs);
    } catch (error) {
      this.ports.logger.warn('the queue of deliveries is away; this process works by itself', { error });
      for (const job of jobs) if (this.working.size < SLOTS) void this.workOn(job);
    }
  }

  /** The same job twice at once, from the queue and from the sweep, is done once. */
  private workOn(job: LaneJob): Promise<void> {
    const id = `${job.lane}-${job.slot}`;
    const known = this.working.get(id);
    const ofTenant = this.perTenant.get(job.tenant) ?? 0;
    if (known || this.isClosing || ofTenant >= TENANT_SLOTS) return known ?? Promise.resolve();
    this.perTenant.set(job.tenant, ofTenant + 1);
    const work = this.workOff(job.lane)
      .catch((error: unknown) =>
        this.ports.logger.warn('a lane of deliveries was left; the sweep comes back to it', { lane: job.lane, error }),
      )
      .finally(() => this.leave(id, job.tenant));
    this.working.set(id, work);
    return work;
  }

  private leave(id: string, tenant: string): void {
    this.working.delete(id);
    const others = (this.perTenant.get(tenant) ?? 1) - 1;
    if (others > 0) this.perTenant.set(tenant, others);
    else this.perTenant.delete(tenant);
  }

  private async workOff(lane: string): Promise<void> {
    const untilMs = performance.now() + TURN_MS;
    while (!this.isClosing && performance.now() < untilMs) {
      const claimed = await this.ports.deliveries.claim(lane, this.leaseMs);
      if (!claimed) return;
      await this.attempt(claimed);
    }
  }

  private async attempt(claimed: ClaimedDelivery): Promise<void> {
    const { lane, eventId, tries, webhookId } = claimed;
    const outcome = await this.sender.deliver(claimed, this.stopping.signal);
    const verdict = judgeAttempt(outcome, tries + 1, { schedule: this.options.retryMs, chance: Math.random() });
    const settled = await this.ports.deliveries.settle(claimed, outcome, verdict);
    this.ports.metrics.count('switchyard_webhook_attempts_total', { outcome: outcome.error ?? 'delivered' });
    if (outcome.error !== undefined) {
      const { error: kind, status } = outcome;
      this.ports.logger.info('a webhook was not delivered', { lane, eventId, kind, status, verdict: verdict.kind });
    }
    if (settled.stopped !== undefined) {
      this.ports.logger.warn('a webhook was switched off', { webhookId, reason: settled.stopped });
    }
  }

  /** Longer than an attempt can take with what is done around it. */
  private get leaseMs(): number {
    return this.sender.timeoutMs * 2 + 1_000;
  }
}

/** The first slot is another one each time: that of a gateway that was killed stays taken for a while. */
function jobsOf({ lane, tenant, due }: DueLane): readonly LaneJob[] {
  const first = Math.floor(Math.random() * LANE_SLOTS);
  return Array.from({ length: due }, (_, n) => ({ lane, slot: (first + n) % LANE_SLOTS, tenant }));
}
