import { type Logger, RunConsumer } from '#lib/domain';
import { type Job, WaitingError } from 'bullmq';
import { TroubleLog } from '../trouble.log.js';
import { within } from '../within.js';
import type { QueueBackends, RunWorker } from './bullmq.backend.js';

/** A worker asks for jobs every 5 s at least; one that has not for longer, while jobs wait, has gone silent. */
const SILENT_MS = 7_000;
const WATCH_MS = 1_000;
/** How long finished runs may take to be marked as finished when the consumer closes. */
const CLOSE_MS = 2_000;

export interface ConsumerDeps {
  readonly backends: QueueBackends;
  readonly logger: Logger;
  /** Jobs of the queue that could be fetched now. */
  readonly waiting: () => Promise<number>;
}

/** What a consumer takes. */
export interface QueueOptions {
  readonly queue: string;
  /** Jobs handled at once. */
  readonly slots: number;
}

/** One queue's worker, watched: a worker that fails to start or goes silent is replaced by a new one. */
export class BullMqConsumer extends RunConsumer {
  private readonly trouble: TroubleLog;
  private worker: RunWorker | undefined;
  private watch: NodeJS.Timeout | undefined;
  private fetchedAtMs = 0;
  private suspicious = false;
  private running = 0;
  private stopped: Promise<void> | undefined;

  constructor(
    private readonly deps: ConsumerDeps,
    private readonly options: QueueOptions,
    private readonly handle: (job: Job<unknown>) => Promise<void>,
  ) {
    super();
    this.trouble = new TroubleLog(deps.logger, 'The queue consumer has trouble');
  }

  /** Starts consuming; resolves when the back end answered, whichever way. It is tried again as long as it takes. */
  async start(): Promise<void> {
    this.watch = setInterval(() => void this.check().catch(this.trouble.report), WATCH_MS);
    await this.open();
  }

  override async pause(): Promise<void> {
    clearInterval(this.watch);
    // Resolves only when running jobs are done, so it is not awaited here; `close` does.
    this.stopped ??= this.worker?.pause().catch(this.trouble.report) ?? Promise.resolve();
  }

  /** Does not wait for jobs that are still being handled: what they hold comes back and meets the compare-and-set. */
  override async close(): Promise<void> {
    await this.pause();
    await within(CLOSE_MS, this.stopped ?? Promise.resolve()).catch(() => undefined);
    // Forced, since the orderly way waits for ever when Redis is away.
    await this.worker?.close(true);
  }

  private async open(): Promise<void> {
    const worker: RunWorker = this.deps.backends.createWorker({
      queue: this.options.queue,
      slots: this.options.slots - this.running,
      process: (job, token) => this.process(worker, job, token),
      onFetch: () => this.onFetch(worker),
    });
    worker.on('error', this.trouble.report);
    this.worker = worker;
    this.onFetch(worker);
    try {
      await worker.waitUntilReady();
      // Nobody reads BullMQ's event stream.
      await worker.getBackend().setQueueMeta({ 'opts.maxLenEvents': 1 });
      if (this.worker === worker && !this.stopped) worker.run().catch(this.trouble.report);
    } catch (error) {
      this.trouble.report(error);
      await this.discard(worker);
    }
  }

  private async discard(worker: RunWorker): Promise<void> {
    if (this.worker === worker) this.worker = undefined;
    await worker.close(true);
  }

  private onFetch(worker: RunWorker): void {
    if (this.worker !== worker) return;
    this.fetchedAtMs = performance.now();
    this.suspicious = false;
  }

  private async check(): Promise<void> {
    const { worker } = this;
    if (this.stopped) return;
    if (worker === undefined) return this.open();
    if (this.running >= this.options.slots || performance.now() - this.fetchedAtMs < SILENT_MS) return;
    if ((await this.deps.waiting()) === 0) return this.onFetch(worker);
    // Twice in a row, since a job may have come this very moment.
    if (!this.suspicious) {
      this.suspicious = true;
      return;
    }
    if (this.worker !== worker || this.stopped) return;
    this.deps.logger.error('A silent queue consumer is replaced', { queue: this.options.queue });
    void this.discard(worker).catch(this.trouble.report);
    await this.open();
  }

  private async process(worker: RunWorker, job: Job<unknown>, token: string | undefined): Promise<void> {
    this.onFetch(worker);
    if (this.stopped) {
      // Fetched while pausing: back to the queue at once, for another runtime.
      await job.moveToWait(token);
      throw new WaitingError();
    }
    this.running += 1;
    try {
      await this.handle(job);
    } catch (error) {
      this.deps.logger.error('A job was dropped', { jobId: job.id, queue: this.options.queue, error });
    } finally {
      this.running -= 1;
      // A slot lent to a worker that has been replaced goes to its successor.
      if (this.worker !== undefined && this.worker !== worker) this.worker.concurrency += 1;
    }
  }
}
