import { afterEach, describe, expect, it } from '@jest/globals';
import type { DeliveryQueue, LaneJob, RunConsumer, RunJob, RunQueue, TaskKey } from '#lib/domain';
import { newTaskKey } from '#lib/platform';
import { ROUND_SIZE } from '../../libs/messaging/src/queue/rounds.js';
import { until } from './until.js';

let pools = 0;

/** A job of a pool nobody else uses. */
export function createRunJob(job: Partial<RunJob> = {}): RunJob {
  const pool = `pool-${(pools += 1)}`;
  return { taskKey: newTaskKey(), runNo: 1, tenant: 'acme', pool, priority: 5, delayMs: 0, ...job };
}

export interface OpenQueue {
  readonly queue: RunQueue;
  close(): Promise<void>;
}

/** What every run queue does; `open` gives another one over the same jobs each time. */
export function describeRunQueue(open: () => Promise<OpenQueue>): void {
  describe('as a run queue', () => {
    const opened: OpenQueue[] = [];
    const create = async (): Promise<RunQueue> => {
      const one = await open();
      opened.push(one);
      return one.queue;
    };
    const collect = async (queue: RunQueue, pool: string, slots = 1): Promise<[RunJob[], RunConsumer]> => {
      const jobs: RunJob[] = [];
      const consumer = await queue.consume({ pool, slots }, async (job) => void jobs.push(job));
      return [jobs, consumer];
    };
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((one) => one.close()));
    });

    it('hands a job over as it was added, whoever added it', async () => {
      const [producer, consumer] = [await create(), await create()];
      const job = createRunJob({ runNo: 3, priority: 7 });
      const [jobs] = await collect(consumer, job.pool);
      await producer.add([job]);
      await until(() => jobs.length === 1);
      expect(jobs).toEqual([job]);
    });

    it('keeps a job until somebody consumes its pool, and no other', async () => {
      const queue = await create();
      const job = createRunJob();
      await queue.add([job]);
      const [others] = await collect(queue, createRunJob().pool);
      expect(await queue.depth(job.pool)).toBe(1);
      const [jobs] = await collect(queue, job.pool);
      await until(() => jobs.length === 1);
      expect(others).toEqual([]);
      await until(async () => (await queue.depth(job.pool)) === 0);
    });

    it('takes a run that is added again, together or later, once', async () => {
      const queue = await create();
      const job = createRunJob();
      await queue.add([job, job]);
      await Promise.all([queue.add([job]), queue.add([job])]);
      expect(await queue.depth(job.pool)).toBe(1);
    });

    it('takes a run that was handled before again', async () => {
      const queue = await create();
      const job = createRunJob();
      const [jobs] = await collect(queue, job.pool);
      await queue.add([job]);
      await until(() => jobs.length === 1);
      await until(async () => {
        await queue.add([job]);
        return jobs.length === 2;
      });
      expect(jobs).toEqual([job, job]);
    });

    it('runs the higher priority first, and equals in the order they came', async () => {
      const queue = await create();
      const { pool } = createRunJob();
      const jobs = [0, 9, 5, 9, 0, 1].map((priority) => createRunJob({ pool, priority }));
      for (const job of jobs) await queue.add([job]);
      const [seen] = await collect(queue, pool);
      await until(() => seen.length === jobs.length);
      expect(seen).toEqual([1, 3, 2, 5, 0, 4].map((index) => jobs[index]));
    });

    it('gives tenants their turns: one that comes late, or goes on, waits for a round of a flood and not for all of it', async () => {
      const [one, two] = [await create(), await create()];
      const { pool } = createRunJob();
      const jobsOf = (tenant: string, count: number, job: Partial<RunJob> = {}): RunJob[] =>
        Array.from({ length: count }, () => createRunJob({ pool, tenant, ...job }));
      await one.add(jobsOf('flood', 300));
      await one.add(jobsOf('late', 1));
      await one.add(jobsOf('flood', 1, { runNo: 2 }));
      await one.add(jobsOf('flood', 1, { priority: 9 }));
      // Another process, or one that has lost sight of what is there, counts from where the queue is.
      await two.add(jobsOf('second', 200));
      await two.restore(jobsOf('restored', 1));
      const [seen] = await collect(one, pool);
      await until(() => seen.length === 504);
      const placeOf = (isMeant: (job: RunJob) => boolean): number => seen.findIndex(isMeant);
      expect(placeOf(({ priority }) => priority === 9)).toBe(0);
      expect(placeOf(({ tenant }) => tenant === 'late')).toBe(ROUND_SIZE + 1);
      expect(placeOf(({ runNo }) => runNo === 2)).toBe(ROUND_SIZE + 2);
      expect(placeOf(({ tenant }) => tenant === 'restored')).toBeLessThan(3 * ROUND_SIZE);
      const half = seen.slice(0, 200).filter(({ tenant }) => tenant === 'second').length;
      expect(half).toBeGreaterThan(100 - ROUND_SIZE);
      expect(half).toBeLessThan(100 + ROUND_SIZE);
    });

    it('holds a delayed job back, counts it, and lets others pass', async () => {
      const queue = await create();
      const late = createRunJob({ delayMs: 400, priority: 9 });
      const soon = createRunJob({ pool: late.pool });
      const [seen] = await collect(queue, late.pool);
      const addedMs = performance.now();
      await queue.add([late]);
      expect(await queue.depth(late.pool)).toBe(1);
      await queue.add([soon]);
      await until(() => seen.length === 2);
      expect(performance.now() - addedMs).toBeGreaterThan(350);
      expect(seen.map((job) => job.taskKey)).toEqual([soon.taskKey, late.taskKey]);
    });

    it('takes back jobs that have not started, and knows nothing of others', async () => {
      const queue = await create();
      const [waiting, delayed] = [createRunJob(), createRunJob({ delayMs: 60_000 })];
      await queue.add([waiting, delayed]);
      await queue.remove([waiting, delayed, createRunJob()]);
      expect([await queue.depth(waiting.pool), await queue.depth(delayed.pool)]).toEqual([0, 0]);
    });

    it('leaves a job that is being handled where it is', async () => {
      const queue = await create();
      const job = createRunJob();
      let finish = (): void => undefined;
      let runs = 0;
      await queue.consume({ pool: job.pool, slots: 1 }, () => {
        runs += 1;
        return new Promise((resolve) => (finish = resolve));
      });
      await queue.add([job]);
      await until(() => runs === 1);
      await expect(queue.remove([job])).resolves.toBeUndefined();
      finish();
    });

    it('handles as many jobs at once as there are slots, and drops one whose handler fails', async () => {
      const queue = await create();
      const { pool } = createRunJob();
      const finish: ((error?: Error) => void)[] = [];
      let most = 0;
      let atOnce = 0;
      let done = 0;
      await queue.consume({ pool, slots: 3 }, async () => {
        most = Math.max(most, (atOnce += 1));
        try {
          await new Promise<void>((resolve, reject) => finish.push((error) => (error ? reject(error) : resolve())));
        } finally {
          atOnce -= 1;
          done += 1;
        }
      });
      await queue.add(Array.from({ length: 8 }, () => createRunJob({ pool })));
      await until(() => finish.length === 3);
      finish[0]?.(new Error('on purpose'));
      await until(() => {
        for (const resolve of finish.slice(1)) resolve();
        return done === 8;
      });
      expect([most, await queue.depth(pool)]).toEqual([3, 0]);
    });

    it('takes no job after a pause, while one that runs goes on', async () => {
      const queue = await create();
      const [first, second] = [createRunJob(), createRunJob()];
      let finish = (): void => undefined;
      const seen: TaskKey[] = [];
      const consumer = await queue.consume({ pool: first.pool, slots: 2 }, (job) => {
        seen.push(job.taskKey);
        return new Promise((resolve) => (finish = resolve));
      });
      await queue.add([first]);
      await until(() => seen.length === 1);
      await consumer.pause();
      await queue.add([{ ...second, pool: first.pool }]);
      const [others] = await collect(queue, first.pool);
      await until(() => others.length === 1);
      expect(seen).toEqual([first.taskKey]);
      finish();
      await consumer.close();
    });

    it('loses no job between a consumer that pauses and one that starts', async () => {
      const queue = await create();
      const { pool } = createRunJob();
      const [early, first] = await collect(queue, pool, 4);
      const jobs = Array.from({ length: 300 }, () => createRunJob({ pool }));
      const added = queue.add(jobs);
      await until(() => early.length > 0, { intervalMs: 1 });
      await first.pause();
      const before = early.length;
      const [late] = await collect(queue, pool, 4);
      await added;
      await until(() => early.length + late.length === jobs.length);
      expect(early).toHaveLength(before);
      expect(new Set([...early, ...late].map((job) => job.taskKey)).size).toBe(jobs.length);
    });

    it('closes while a job is still being handled', async () => {
      const queue = await create();
      const job = createRunJob();
      let runs = 0;
      await queue.consume({ pool: job.pool, slots: 1 }, () => {
        runs += 1;
        return new Promise(() => undefined);
      });
      await queue.add([job]);
      await until(() => runs === 1);
      await expect(queue.close()).resolves.toBeUndefined();
    });

    it('refuses to add once it is closed', async () => {
      const queue = await create();
      await queue.close();
      await expect(queue.add([createRunJob()])).rejects.toMatchObject({ code: 'unavailable' });
    });

    it('takes adds that come together, and each of them answers', async () => {
      const queue = await create();
      const { pool } = createRunJob();
      const jobs = Array.from({ length: 700 }, () => createRunJob({ pool }));
      await Promise.all(jobs.map((job) => queue.add([job])));
      expect(await queue.depth(pool)).toBe(700);
    });
  });
}

/** What every queue of deliveries does; `open` gives another one over the same jobs each time. */
export function describeDeliveryQueue(
  open: () => Promise<{ readonly deliveryQueue: DeliveryQueue; close(): Promise<void> }>,
): void {
  describe('as a queue of deliveries', () => {
    it('hands each wish over once while it waits or is worked on, to whoever is free, and again later', async () => {
      const [one, two] = [await open(), await open()];
      const taken: LaneJob[] = [];
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      const handle = async (job: LaneJob): Promise<void> => {
        taken.push(job);
        await held;
      };
      const wishes = [0, 1].map((slot) => ({ lane: `wh_${newTaskKey().replaceAll('-', '')}`, slot, tenant: 'acme' }));
      const bySlot = (jobs: readonly LaneJob[]): LaneJob[] => jobs.toSorted((a, b) => a.slot - b.slot);
      try {
        await one.deliveryQueue.add([...wishes, ...wishes]);
        await Promise.all([one, two].map(({ deliveryQueue }) => deliveryQueue.consume(2, handle)));
        await until(() => taken.length === 2);
        await two.deliveryQueue.add(wishes);
        expect(bySlot(taken)).toEqual(wishes);
        release();
        await until(async () => {
          await one.deliveryQueue.add(wishes);
          return taken.length >= 4;
        });
        expect(bySlot(taken.slice(0, 2))).toEqual(wishes);
      } finally {
        release();
        await Promise.all([one.close(), two.close()]);
      }
    });
  });
}
