import { describe, expect, it } from '@jest/globals';
import type { RunJob, TaskKey } from '#lib/domain';
import { decodeLaneJob, decodeRunJob, encodeLaneJob, encodeRunJob, roundOf } from './jobs.js';
import { LAST_ROUND } from './queue/rounds.js';

const JOB: RunJob = {
  taskKey: '0199b5a0-7c1e-7000-8000-00000000002a' as TaskKey,
  runNo: 12,
  tenant: 'acme',
  pool: 'dialogue',
  priority: 9,
  delayMs: 0,
};

describe('a run job', () => {
  it('is named by task and run, says whose it is, carries nothing else and leaves the queue when it is finished', () => {
    expect(encodeRunJob(JOB, 0, 1_700_000_000_000)).toEqual({
      id: '0199b5a0-7c1e-7000-8000-00000000002a-12',
      name: 'run',
      data: '{"taskKey":"0199b5a0-7c1e-7000-8000-00000000002a","runNo":12,"tenant":"acme"}',
      opts: { priority: 1, attempts: 1, removeOnComplete: true, removeOnFail: true },
      timestamp: 1_700_000_000_000,
      progress: 0,
      attemptsMade: 0,
      attemptsStarted: 0,
      failedReason: '',
      returnvalue: '',
      stalledCounter: 0,
    });
  });

  it.each([0, 5, 9])('comes back as it was with priority %i and a delay, whatever its round', (priority) => {
    const job = { ...JOB, priority, delayMs: 1_500 };
    for (const round of [0, 1, 77, LAST_ROUND]) {
      const { data, opts } = encodeRunJob(job, round, 0);
      expect(opts.priority).toBeGreaterThan(0);
      // BullMQ has no room for more.
      expect(opts.priority).toBeLessThanOrEqual(2 ** 21);
      expect(roundOf(opts.priority!)).toBe(round);
      expect(decodeRunJob(job.pool, { name: 'run', data: JSON.parse(data) as unknown, opts })).toEqual(job);
    }
  });

  it('of a version that named no tenant is taken all the same', () => {
    const data = { taskKey: JOB.taskKey, runNo: JOB.runNo };
    expect(decodeRunJob(JOB.pool, { name: 'run', data, opts: { priority: 1 } })).toEqual({ ...JOB, tenant: '' });
  });

  it.each([{}, { taskKey: JOB.taskKey, runNo: 0 }, { taskKey: 'a', runNo: 1 }, null, 'x'])(
    'is refused when its payload is %j',
    (data) => {
      expect(() => decodeRunJob('dialogue', { name: 'run', data, opts: {} })).toThrow();
    },
  );

  it('stays under a kilobyte with the longest ids, and holds nothing of what the task was given', () => {
    const job = {
      ...JOB,
      runNo: Number.MAX_SAFE_INTEGER,
      pool: 'p'.repeat(100),
      priority: 9,
      delayMs: Number.MAX_SAFE_INTEGER,
    };
    const encoded = encodeRunJob(job, LAST_ROUND, Number.MAX_SAFE_INTEGER);
    expect(Buffer.byteLength(JSON.stringify(encoded))).toBeLessThan(1_000);
    expect(Object.keys(JSON.parse(encoded.data) as object)).toEqual(['taskKey', 'runNo', 'tenant']);
  });
});

describe('a wish to work off a lane', () => {
  const wish = { lane: `wh_${'0'.repeat(32)}`, slot: 3, tenant: 'acme' };

  it('is named by lane and slot, and comes back as it was', () => {
    const job = encodeLaneJob(wish, 1_700_000_000_000);
    expect(job).toMatchObject({ id: `${wish.lane}-3`, name: 'deliver', opts: { removeOnComplete: true, attempts: 1 } });
    expect(decodeLaneJob({ data: JSON.parse(job.data) as unknown })).toEqual(wish);
  });

  it.each([{}, { ...wish, slot: -1 }, { ...wish, lane: 'wh_..' }, { lane: wish.lane, slot: 0 }])(
    'that is %j is none of ours',
    (data) => {
      expect(() => decodeLaneJob({ data })).toThrow();
    },
  );
});
