import type { DueJob, RunQueue, RunStore } from '#lib/domain';
import { draftEvent } from '../admission.js';
import type { EventWriter } from '../event.writer.js';
import type { Sweep } from './sweep.loop.js';

const BATCH = 500;

export interface OutboxPorts {
  readonly runs: RunStore;
  readonly queue: RunQueue;
  readonly writer: EventWriter;
}

/**
 * Adds jobs again that nobody has claimed in time: the queue may have been emptied, or never have got them. Says of a
 * task that nobody has claimed for too long that it waits for a worker.
 */
export class OutboxSweep implements Sweep {
  readonly name = 'outbox';
  readonly everyMs = 1_000;

  constructor(private readonly ports: OutboxPorts) {}

  async runOnce(): Promise<void> {
    for (;;) {
      const jobs = await this.ports.runs.dueJobs(BATCH);
      // First, since the queue may be what is away.
      await Promise.all(jobs.filter(({ isOverlong }) => isOverlong).map((job) => this.stall(job)));
      if (jobs.length > 0) await this.ports.queue.restore(jobs);
      if (jobs.length < BATCH) return;
    }
  }

  private async stall({ taskKey, taskId, runNo, stalled }: DueJob): Promise<void> {
    const payload = { reason: 'no_progress', waiting_on: 'worker' };
    await this.ports.writer.append({
      taskKey,
      taskId,
      guard: { kind: 'control', from: ['queued', 'running'], runOpen: false, runNo: runNo - 1, stalled },
      events: [draftEvent({ type: 'task.stalled', payload })],
    });
  }
}
