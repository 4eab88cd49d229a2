import type { CreatedOutcome, Logger, RunJob, RunQueue, Submission, TaskSnapshot } from '#lib/domain';
import type { SessionAdvancer } from '#lib/execution';

/** Jobs in one call. */
const MAX_BATCH = 500;
/** Jobs kept while the queue does not answer; more are left to the sweep. */
const MAX_WAITING = 10_000;

/**
 * Puts runs into the queue without anyone waiting for it: one call is under way, what comes meanwhile is the next one.
 * A job that gets lost here is added again by the sweep over the outbox.
 */
export class RunEnqueuer {
  private waiting: RunJob[] = [];
  private working: Promise<void> | undefined;

  constructor(
    private readonly queue: RunQueue,
    private readonly logger: Logger,
    private readonly sessions: Pick<SessionAdvancer, 'advance'>,
  ) {}

  /** Starts what a submission may start: its own run, or the end of those its session has to end first. */
  submitted({ taskKey, tenant, pool, priority }: Submission, { turn }: CreatedOutcome): void {
    if (turn === 'now') this.add({ taskKey, runNo: 1, tenant, pool, priority, delayMs: 0 });
    if (turn === 'over') this.sessions.advance([taskKey]);
  }

  /** Starts a task that was held; one of a session when its turn is there. */
  released({ taskKey, tenant, pool, priority, sessionId }: TaskSnapshot): void {
    if (sessionId === null) this.add({ taskKey, runNo: 1, tenant, pool, priority, delayMs: 0 });
    else this.sessions.advance([taskKey]);
  }

  add(job: RunJob): void {
    if (this.waiting.length >= MAX_WAITING) return;
    this.waiting.push(job);
    this.working ??= this.work();
  }

  private async work(): Promise<void> {
    // Whatever is submitted in this turn of the event loop goes together.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const jobs = this.waiting.splice(0, MAX_BATCH);
      try {
        await this.queue.add(jobs);
      } catch (error) {
        this.logger.warn('jobs were not queued; the sweep will add them', { error, jobs: jobs.length });
      }
    }
    this.working = undefined;
  }
}
