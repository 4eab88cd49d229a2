import {
  type ConsumeOptions,
  type Logger,
  type RunConsumer,
  type RunJob,
  RunQueue,
  UnavailableError,
} from '#lib/domain';
import type { IQueueBackend } from 'bullmq';
import { encodeRunJob, queueName, runJobId } from '../jobs.js';
import { TroubleLog } from '../trouble.log.js';
import { within } from '../within.js';
import type { QueueBackends } from './bullmq.backend.js';
import { BullMqConsumer } from './bullmq.consumer.js';

/** An add that takes longer is given up: the outbox repeats it, and the submit it belongs to must answer. */
const ADD_MS = 1_000;
/** So that a long list is not taken for a queue that does not answer. */
const MAX_TOGETHER = 50;
const FETCHABLE = ['wait', 'prioritized'] as const;

/** The queue in front of the runtimes, over BullMQ with either back end. */
export class BullMqQueue extends RunQueue {
  private readonly producers = new Map<string, IQueueBackend>();
  private readonly consumers = new Set<BullMqConsumer>();
  private closed: Promise<void> | undefined;

  constructor(
    private readonly backends: QueueBackends,
    private readonly logger: Logger,
  ) {
    super();
    backends.producer.on('error', new TroubleLog(logger, 'The queue connection has trouble').report);
  }

  /** @throws DomainError `unavailable` within about a second when the jobs may not have been added. */
  override async add(jobs: readonly RunJob[]): Promise<void> {
    const nowMs = Date.now();
    const addOne = (job: RunJob): Promise<unknown> =>
      this.producer(job.pool).addJob(encodeRunJob(job, nowMs), runJobId(job));
    for (let start = 0; start < jobs.length; start += MAX_TOGETHER) {
      const some = jobs.slice(start, start + MAX_TOGETHER);
      await this.reach(() => this.backends.together(() => Promise.all(some.map(addOne))));
    }
  }

  override async remove(jobs: readonly RunJob[]): Promise<void> {
    await this.reach(() => Promise.all(jobs.map((job) => this.producer(job.pool).remove(runJobId(job), false))));
  }

  override async consume(options: ConsumeOptions, handle: (job: RunJob) => Promise<void>): Promise<RunConsumer> {
    const { backends, logger } = this;
    const waiting = (pool: string): Promise<number> => this.count(pool, FETCHABLE);
    const consumer = new BullMqConsumer({ backends, logger, waiting }, options, handle);
    this.consumers.add(consumer);
    // While Redis is away the consumer goes on trying by itself.
    await within(ADD_MS, consumer.start()).catch(() => undefined);
    return consumer;
  }

  override async depth(pool: string): Promise<number> {
    return this.count(pool, [...FETCHABLE, 'delayed']);
  }

  override close(): Promise<void> {
    return (this.closed ??= this.closeAll());
  }

  private async closeAll(): Promise<void> {
    await Promise.all([...this.consumers].map((consumer) => consumer.close()));
    await this.backends.producer.close();
  }

  private async count(pool: string, states: readonly ('wait' | 'prioritized' | 'delayed')[]): Promise<number> {
    const counts = await this.reach(() => this.producer(pool).getCounts([...states]));
    return counts.reduce((sum, count) => sum + Number(count), 0);
  }

  /** Answers within a second, and with an error that says the queue is away, not why. */
  private async reach<T>(work: () => Promise<T>): Promise<T> {
    if (this.closed) throw new UnavailableError('The queue is closed.');
    try {
      return await within(ADD_MS, work());
    } catch (error) {
      throw new UnavailableError('The queue cannot be reached at the moment.', { cause: error });
    }
  }

  private producer(pool: string): IQueueBackend {
    let producer = this.producers.get(pool);
    if (producer === undefined) {
      producer = this.backends.producer.forQueue(queueName(pool));
      this.producers.set(pool, producer);
    }
    return producer;
  }
}
