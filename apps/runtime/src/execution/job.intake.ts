import {
  type DatabaseHealth,
  isUnavailableError,
  type Logger,
  type RunConsumer,
  type RunJob,
  type RunQueue,
} from '#lib/domain';
import { setTimeout as delay } from 'node:timers/promises';

/** Between two looks at a database that is away. */
const LOOK_MS = 1_000;

export interface IntakePorts {
  readonly queue: RunQueue;
  readonly database: DatabaseHealth;
  readonly logger: Logger;
  readonly handle: (job: RunJob) => Promise<void>;
}

export interface IntakeOptions {
  readonly pools: readonly string[];
  /** Runs at once, per pool. */
  readonly slots: number;
}

/**
 * Takes jobs from the queue while the database answers. Without it a runtime could only take jobs away from others that
 * still reach it.
 */
export class JobIntake {
  private readonly stopping = new AbortController();
  private consumers: readonly RunConsumer[] = [];
  private suspended: Promise<void> | undefined;
  private inHand = 0;
  private idled: () => void = () => undefined;

  constructor(
    private readonly ports: IntakePorts,
    private readonly options: IntakeOptions,
  ) {}

  async open(): Promise<void> {
    const { pools, slots } = this.options;
    this.consumers = await Promise.all(
      pools.map((pool) => this.ports.queue.consume({ pool, slots }, (job) => this.take(job))),
    );
  }

  /** Takes no more jobs. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.suspended;
    await Promise.all(this.consumers.map((consumer) => consumer.pause()));
  }

  /** Resolves when no job is in hand. */
  idle(): Promise<void> {
    return this.inHand === 0 ? Promise.resolve() : new Promise((resolve) => (this.idled = resolve));
  }

  private async take(job: RunJob): Promise<void> {
    this.inHand += 1;
    try {
      await this.ports.handle(job);
    } catch (error) {
      const { taskKey, runNo } = job;
      this.ports.logger.error('a job was given up', { taskKey, runNo, error });
      if (isUnavailableError(error) && !this.stopping.signal.aborted) this.suspended ??= this.suspend();
    } finally {
      this.inHand -= 1;
      if (this.inHand === 0) this.idled();
    }
  }

  private async suspend(): Promise<void> {
    const { signal } = this.stopping;
    this.ports.logger.warn('no jobs are taken while the database is away');
    await Promise.all(this.consumers.map((consumer) => consumer.close()));
    this.consumers = [];
    while (!signal.aborted && !(await this.isBack())) {
      await delay(LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
    this.suspended = undefined;
    if (signal.aborted) return;
    await this.open();
    this.ports.logger.info('jobs are taken again');
  }

  private async isBack(): Promise<boolean> {
    return this.ports.database.faults().then(
      () => true,
      () => false,
    );
  }
}
