import { describe, expect, it } from '@jest/globals';
import { type ConsumeOptions, DatabaseHealth, RunConsumer, type RunJob, UnavailableError } from '#lib/domain';
import { newTaskKey } from '#lib/platform';
import { MemoryRunQueue } from '../../../../test/support/memory-run-queue.js';
import { SilentLogger } from '../../../../test/support/silent-logger.js';
import { until } from '../../../../test/support/until.js';
import { JobIntake } from './job.intake.js';

/** Hands jobs to whoever consumes at the time. */
class HandingQueue extends MemoryRunQueue {
  readonly open = new Map<string, (job: RunJob) => Promise<void>>();
  opened = 0;

  override async consume({ pool }: ConsumeOptions, handle: (job: RunJob) => Promise<void>): Promise<RunConsumer> {
    this.open.set(pool, handle);
    this.opened += 1;
    return new HandingConsumer(() => this.open.delete(pool));
  }
}

class HandingConsumer extends RunConsumer {
  constructor(private readonly end: () => void) {
    super();
  }

  override async pause(): Promise<void> {
    this.end();
  }

  override async close(): Promise<void> {
    this.end();
  }
}

class FlakyDatabase extends DatabaseHealth {
  isAway = false;

  override async faults(): Promise<readonly []> {
    if (this.isAway) throw new UnavailableError('away');
    return [];
  }
}

const job: RunJob = { taskKey: newTaskKey(), runNo: 1, tenant: 'acme', pool: 'a', priority: 5, delayMs: 0 };

async function createIntake(handle: (job: RunJob) => Promise<void>) {
  const [queue, database] = [new HandingQueue(), new FlakyDatabase()];
  const intake = new JobIntake(
    { queue, database, handle, logger: new SilentLogger() },
    { pools: ['a', 'b'], slots: 2 },
  );
  await intake.open();
  return { queue, database, intake };
}

describe('the intake of jobs', () => {
  it('consumes every pool until it is stopped', async () => {
    const seen: RunJob[] = [];
    const { queue, intake } = await createIntake(async (taken) => void seen.push(taken));
    await queue.open.get('b')?.(job);
    expect(seen).toEqual([job]);
    await intake.stop();
    expect(queue.open.size).toBe(0);
  });

  it('is idle when the jobs it took are done', async () => {
    let finish: () => void = () => undefined;
    const { queue, intake } = await createIntake(() => new Promise((resolve) => (finish = resolve)));
    await intake.idle();
    const taken = queue.open.get('a')?.(job);
    let isIdle = false;
    const idle = intake.idle().then(() => (isIdle = true));
    await new Promise(setImmediate);
    expect(isIdle).toBe(false);
    finish();
    await Promise.all([taken, idle]);
    await intake.stop();
  });

  it('takes nothing while the database is away, and again when it is back', async () => {
    const { queue, database, intake } = await createIntake(() => Promise.reject(new UnavailableError('away')));
    database.isAway = true;
    await queue.open.get('a')?.(job);
    await until(() => queue.open.size === 0);
    database.isAway = false;
    await until(() => queue.open.size === 2);
    expect(queue.opened).toBe(4);
    await intake.stop();
  });

  it('goes on after a job that failed otherwise, and stops while it is suspended', async () => {
    const errors = [new Error('a bug'), new UnavailableError('away')];
    const { queue, database, intake } = await createIntake(() => Promise.reject(errors.shift()!));
    database.isAway = true;
    await queue.open.get('a')?.(job);
    expect(queue.open.size).toBe(2);
    await queue.open.get('a')?.(job);
    await until(() => queue.open.size === 0);
    await intake.stop();
    database.isAway = false;
    expect(queue.opened).toBe(2);
  });
});
