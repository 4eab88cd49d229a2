import type { Logger, RunJob, RunQueue } from '#lib/domain';
import type { ClaimedRun, RunClaimer } from '#lib/execution';
import type { LiveRuns } from './live-runs.js';
import type { TaskExecutor } from './task.executor.js';

export interface ProcessorPorts {
  readonly claimer: RunClaimer;
  readonly executor: TaskExecutor;
  readonly live: LiveRuns;
  readonly queue: RunQueue;
  readonly logger: Logger;
}

/** From a job to the end of the run it asked for. Coming again, or late, a job finds nothing to claim and ends quietly. */
export class TaskProcessor {
  constructor(private readonly ports: ProcessorPorts) {}

  /** Never rejects: whatever goes wrong here is found by the sweeps. */
  async handle(job: RunJob): Promise<void> {
    try {
      const claimed = await this.ports.claimer.claim(job);
      if (claimed) await this.run(claimed, job);
    } catch (error) {
      this.ports.logger.error('a job was given up', { taskKey: job.taskKey, runNo: job.runNo, error });
    }
  }

  private async run(claimed: ClaimedRun, job: RunJob): Promise<void> {
    const { live, executor, queue, logger } = this.ports;
    const run = live.open(claimed);
    const { taskKey, taskId, runNo, cancelAtMs, event } = claimed.claim;
    try {
      if (cancelAtMs !== undefined) live.cancel(run, event.atMs - cancelAtMs);
      const ended = await executor.execute(run);
      if (ended?.outcome.kind !== 'stored') {
        logger.info('a run ended that was not ours to end', { taskKey, taskId, runNo, outcome: ended?.outcome.kind });
      } else if (ended.next) {
        await queue.add([{ ...job, runNo: ended.next.runNo, delayMs: ended.next.delayMs }]);
      }
    } finally {
      live.close(run);
    }
  }
}
