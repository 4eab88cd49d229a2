import type { Logger, RunJob, RunQueue } from '#lib/domain';
import type { ClaimedRun, RunClaimer } from '#lib/execution';
import type { LiveRuns } from './live-runs.js';
import type { StallWatch } from './stall.watch.js';
import type { TaskExecutor } from './task.executor.js';

export interface ProcessorPorts {
  readonly claimer: RunClaimer;
  readonly executor: TaskExecutor;
  readonly live: LiveRuns;
  readonly stalls: StallWatch;
  readonly queue: RunQueue;
  readonly logger: Logger;
}

/** From a job to the end of the run it asked for. Coming again, or late, a job finds nothing to claim and ends quietly. */
export class TaskProcessor {
  constructor(private readonly ports: ProcessorPorts) {}

  /** Rejects when the job has to be given up; whatever is left of it is found by the sweeps. */
  async handle(job: RunJob): Promise<void> {
    const claimed = await this.ports.claimer.claim(job);
    if (claimed) await this.run(claimed, job);
  }

  private async run(claimed: ClaimedRun, job: RunJob): Promise<void> {
    const { live, executor, stalls, queue, logger } = this.ports;
    const run = live.open(claimed);
    const { taskKey, taskId, runNo, cancelAtMs, stalled, event } = claimed.claim;
    try {
      if (cancelAtMs !== undefined) live.cancel(run, event.atMs - cancelAtMs);
      if (stalled) stalls.moved(run);
      const ended = await executor.execute(run);
      if (ended?.outcome.kind !== 'stored') {
        logger.info('a run ended that was not ours to end', { taskKey, taskId, runNo, outcome: ended?.outcome.kind });
      } else if (ended.next && ended.outcome.appended.cancelAtMs === undefined) {
        const next = { ...job, runNo: ended.next.runNo, delayMs: ended.next.delayMs };
        // The outbox has it too.
        await queue
          .add([next])
          .catch((error: unknown) => logger.debug('a job was not added', { taskKey, runNo, error }));
      }
    } finally {
      live.close(run);
    }
  }
}
