import type { RunQueue, RunStore } from '#lib/domain';
import type { Sweep } from './sweep.loop.js';

const BATCH = 500;

/** Adds jobs again that nobody has claimed in time: the queue may have been emptied, or never have got them. */
export class OutboxSweep implements Sweep {
  readonly name = 'outbox';
  readonly everyMs = 1_000;

  constructor(private readonly ports: { readonly runs: RunStore; readonly queue: RunQueue }) {}

  async runOnce(): Promise<void> {
    for (;;) {
      const jobs = await this.ports.runs.dueJobs(BATCH);
      if (jobs.length > 0) await this.ports.queue.add(jobs);
      if (jobs.length < BATCH) return;
    }
  }
}
