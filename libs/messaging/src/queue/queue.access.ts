import { type Logger, type RunConsumer, UnavailableError } from '#lib/domain';
import type { IQueueBackend, Job, JobJson } from 'bullmq';
import { TroubleLog } from '../trouble.log.js';
import { within } from '../within.js';
import type { QueueBackends } from './bullmq.backend.js';
import { BullMqConsumer, type QueueOptions } from './bullmq.consumer.js';

/** An add that takes longer is given up: a sweep repeats it, and the request it belongs to must answer. */
const ADD_MS = 1_000;
/** So that a long list is not taken for a queue that does not answer. */
const MAX_TOGETHER = 50;
const FETCHABLE = ['wait', 'prioritized'] as const;
type JobState = (typeof FETCHABLE)[number] | 'delayed';

/** A job with its id in the queue it goes to. */
export interface PlacedJob {
  readonly queue: string;
  readonly id: string;
  readonly json: JobJson;
}

/** The number a queue was left at, among its metadata. */
const NOTE = 'switchyard.round';

export interface Front {
  readonly isEmpty: boolean;
  /** What the next job is ordered by. Undefined when it was taken meanwhile. */
  readonly number: number | undefined;
  /** 0 where nothing was. */
  readonly noted: number;
}

/** Every queue, over one connection. It answers within a second, and with an error that says the queue is away, not why. */
export class QueueAccess {
  private readonly producers = new Map<string, IQueueBackend>();
  private readonly consumers = new Set<BullMqConsumer>();
  private closed: Promise<void> | undefined;

  constructor(
    private readonly backends: QueueBackends,
    private readonly logger: Logger,
  ) {
    backends.producer.on('error', new TroubleLog(logger, 'The queue connection has trouble').report);
  }

  /** A job whose id is there is left alone. @throws DomainError `unavailable` when the jobs may not have been added. */
  async add(jobs: readonly PlacedJob[]): Promise<void> {
    const addOne = ({ queue, id, json }: PlacedJob): Promise<unknown> => this.producer(queue).addJob(json, id);
    for (let start = 0; start < jobs.length; start += MAX_TOGETHER) {
      const some = jobs.slice(start, start + MAX_TOGETHER);
      await this.reach(() => this.backends.together(() => Promise.all(some.map(addOne))));
    }
  }

  async remove(jobs: readonly Omit<PlacedJob, 'json'>[]): Promise<void> {
    await this.reach(() => Promise.all(jobs.map(({ queue, id }) => this.producer(queue).remove(id, false))));
  }

  /** Jobs that wait, those with a delay included. */
  depth(queue: string): Promise<number> {
    return this.count(queue, [...FETCHABLE, 'delayed']);
  }

  /** Who is next in the queue, and what was noted on it. */
  front(queue: string): Promise<Front> {
    const producer = this.producer(queue);
    return this.reach(async () => {
      const [[ids], noted] = await this.backends.together(() =>
        Promise.all([producer.getRanges(['prioritized'], 0, 0, true), producer.getQueueMetaField(NOTE)]),
      );
      const [id] = ids ?? [];
      const job = id === undefined ? undefined : await producer.getJobData(id);
      return { isEmpty: id === undefined, number: job?.opts.priority, noted: Number(noted ?? 0) };
    });
  }

  async note(queue: string, number: number): Promise<void> {
    await this.reach(() => this.producer(queue).setQueueMeta({ [NOTE]: number }));
  }

  async consume(options: QueueOptions, handle: (job: Job<unknown>) => Promise<void>): Promise<RunConsumer> {
    const { backends, logger } = this;
    const waiting = (): Promise<number> => this.count(options.queue, FETCHABLE);
    const consumer = new BullMqConsumer({ backends, logger, waiting }, options, handle);
    this.consumers.add(consumer);
    // While Redis is away the consumer goes on trying by itself.
    await within(ADD_MS, consumer.start()).catch(() => undefined);
    return consumer;
  }

  close(): Promise<void> {
    return (this.closed ??= this.closeAll());
  }

  private async closeAll(): Promise<void> {
    await Promise.all([...this.consumers].map((consumer) => consumer.close()));
    await this.backends.producer.close();
  }

  private async count(queue: string, states: readonly JobState[]): Promise<number> {
    const counts = await this.reach(() => this.producer(queue).getCounts([...states]));
    return counts.reduce((sum, count) => sum + Number(count), 0);
  }

  private async reach<T>(work: () => Promise<T>): Promise<T> {
    if (this.closed) throw new UnavailableError('The queue is closed.');
    try {
      return await within(ADD_MS, work());
    } catch (error) {
      throw new UnavailableError('The queue cannot be reached at the moment.', { cause: error });
    }
  }

  private producer(queue: string): IQueueBackend {
    let producer = this.producers.get(queue);
    if (producer === undefined) {
      producer = this.backends.producer.forQueue(queue);
      this.producers.set(queue, producer);
    }
    return producer;
  }
}
