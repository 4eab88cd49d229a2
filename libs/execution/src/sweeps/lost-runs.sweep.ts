import {
  type Dispatch,
  type EventBody,
  type FailureCode,
  FAILURES,
  type Logger,
  type LostRun,
  type Metrics,
  type RunQueue,
  type RunStore,
} from '#lib/domain';
import { draftEvent } from '../admission.js';
import type { EventWriter } from '../event.writer.js';
import { mayRunAgain } from '../loss.js';
import type { Sweep } from './sweep.loop.js';

const BATCH = 100;

export interface LostRunsPorts {
  readonly runs: RunStore;
  readonly writer: EventWriter;
  readonly queue: RunQueue;
  readonly logger: Logger;
  readonly metrics?: Metrics;
}

/** Ends runs whose lease ran out: their task goes on in another run, or ends. */
export class LostRunsSweep implements Sweep {
  readonly name = 'lost runs';

  constructor(
    private readonly ports: LostRunsPorts,
    readonly everyMs: number,
    /** Whether the runners of a kind can go on from a checkpoint. */
    private readonly canResume: (runner: string) => boolean,
  ) {}

  async runOnce(): Promise<void> {
    for (;;) {
      const lost = await this.ports.runs.lostRuns(BATCH);
      const ended = await Promise.all(lost.map((run) => this.end(run)));
      if (lost.length < BATCH || !ended.includes(true)) return;
    }
  }

  /** False when it was not ours to end, or could not be. */
  private async end(run: LostRun): Promise<boolean> {
    const { taskKey, taskId, runNo, tenant, pool, priority } = run;
    const sequel = this.sequelOf(run);
    const outcome = await this.ports.writer.append({
      taskKey,
      taskId,
      guard: {
        kind: 'control',
        from: ['running'],
        runOpen: true,
        runNo,
        leaseExpired: true,
        // Asked since this was read: the next sweep ends the task instead.
        cancelRequested: run.cancelRequested,
      },
      events: 'type' in sequel ? [draftEvent(sequel)] : [],
      ...('reason' in sequel ? { dispatch: sequel } : {}),
    });
    if (outcome.kind !== 'stored') return false;
    this.ports.metrics?.count('switchyard_runs_lost_total', { runner: run.runner });
    const sequelName = 'type' in sequel ? sequel.type : 'another run';
    this.ports.logger.warn('a run was lost', { taskKey, taskId, runNo, runner: run.runner, sequel: sequelName });
    if ('reason' in sequel)
      await this.ports.queue.add([{ taskKey, runNo: sequel.runNo, tenant, pool, priority, delayMs: 0 }]);
    return true;
  }

  private sequelOf(run: LostRun): EventBody | Dispatch {
    if (run.cancelRequested) return { type: 'task.cancelled', payload: { forced: true } };
    if (!mayRunAgain(run.policy, { canResume: this.canResume(run.runner) })) return failed('runtime_lost');
    if (run.consecutiveLost + 1 >= run.policy.maxRuns) return failed('poison');
    return { runNo: run.runNo + 1, reason: 'lost', delayMs: 0, attempt: run.attempt };
  }
}

function failed(code: FailureCode): EventBody {
  return { type: 'task.failed', payload: { error: { code, message: FAILURES[code] } } };
}
