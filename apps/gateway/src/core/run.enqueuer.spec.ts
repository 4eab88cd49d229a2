import { describe, expect, it } from '@jest/globals';
import { type RunJob, type TaskKey, UnavailableError } from '#lib/domain';
import { MemoryRunQueue } from '../../../../test/support/memory-run-queue.js';
import { SilentLogger } from '../../../../test/support/silent-logger.js';
import { until } from '../../../../test/support/until.js';
import { RunEnqueuer } from './run.enqueuer.js';

class HeldQueue extends MemoryRunQueue {
  readonly calls: number[] = [];
  gate: Promise<void> = Promise.resolve();

  override async add(jobs: readonly RunJob[]): Promise<void> {
    this.calls.push(jobs.length);
    await this.gate;
    await super.add(jobs);
  }
}

const NO_SESSIONS = { advance: (): void => undefined };
const job = (n: number): RunJob => ({
  taskKey: `k${n}` as TaskKey,
  runNo: 1,
  tenant: 'acme',
  pool: 'p',
  priority: 5,
  delayMs: 0,
});

describe('RunEnqueuer', () => {
  it('adds what comes together in one call, and what comes meanwhile in the next', async () => {
    const queue = new HeldQueue();
    const enqueuer = new RunEnqueuer(queue, new SilentLogger(), NO_SESSIONS);
    for (let n = 0; n < 3; n++) enqueuer.add(job(n));
    await until(() => queue.jobs.length === 3);
    for (let n = 3; n < 5; n++) enqueuer.add(job(n));
    await until(() => queue.jobs.length === 5);
    expect(queue.calls).toEqual([3, 2]);
  });

  it('goes on after a queue that refuses, and leaves those jobs to the sweep', async () => {
    const queue = new HeldQueue();
    const logger = new SilentLogger();
    const enqueuer = new RunEnqueuer(queue, logger, NO_SESSIONS);
    queue.gate = Promise.reject(new UnavailableError('down'));
    enqueuer.add(job(1));
    await until(() => logger.lines.length === 1);
    queue.gate = Promise.resolve();
    enqueuer.add(job(2));
    await until(() => queue.jobs.length === 1);
    expect(queue.jobs).toEqual([job(2)]);
  });

  it('keeps a bounded number of jobs while the queue does not answer', async () => {
    const queue = new HeldQueue();
    let answer = (): void => undefined;
    queue.gate = new Promise((resolve) => (answer = resolve));
    const enqueuer = new RunEnqueuer(queue, new SilentLogger(), NO_SESSIONS);
    enqueuer.add(job(0));
    await until(() => queue.calls.length === 1);
    for (let n = 1; n <= 20_000; n++) enqueuer.add(job(n));
    answer();
    await until(() => queue.jobs.length === 10_001);
    expect(Math.max(...queue.calls)).toBe(500);
  });
});
