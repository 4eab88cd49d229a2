import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RunPolicy, Submission, TaskKey } from '#lib/domain';
import { Database, PgEventLog, PgRunStore, PgTaskStore } from '#lib/persistence';
import { newEventId } from '#lib/platform';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { MemoryEventBus } from '../../../../test/support/memory-event-bus.js';
import { MemoryRunQueue } from '../../../../test/support/memory-run-queue.js';
import { SilentLogger } from '../../../../test/support/silent-logger.js';
import { createBackend, createSubmission } from '../../../../test/support/submissions.js';
import { until } from '../../../../test/support/until.js';
import { draftEvent } from '../admission.js';
import { EventWriter } from '../event.writer.js';
import { DeadlinesSweep } from './deadlines.sweep.js';
import { LostRunsSweep } from './lost-runs.sweep.js';
import { OutboxSweep } from './outbox.sweep.js';

let test: TestDatabase;
let database: Database;
let log: PgEventLog;
let runs: PgRunStore;
let queue: MemoryRunQueue;
let bus: MemoryEventBus;
let writer: EventWriter;

beforeEach(async () => {
  test = await createDatabase();
  database = new Database({ databaseUrl: test.url, max: 4, name: 'test' });
  log = new PgEventLog(database, database);
  runs = new PgRunStore(database);
  queue = new MemoryRunQueue();
  bus = new MemoryEventBus();
  writer = new EventWriter({ log, bus, logger: new SilentLogger() });
});

afterEach(async () => {
  await writer.close();
  await database.close();
  await test.drop();
});

async function submitted(policy: Partial<RunPolicy> = {}, change: Partial<Submission> = {}): Promise<TaskKey> {
  const submission = createSubmission(await createBackend(test.url, policy), change);
  await new PgTaskStore(database).submit(submission);
  return submission.taskKey;
}

const job = (taskKey: TaskKey, runNo: number) => ({
  taskKey,
  runNo,
  tenant: 'acme',
  pool: 'scripted',
  priority: 5,
  delayMs: 0,
});

/** Claims a run whose lease is over at once. */
async function lose(taskKey: TaskKey, runNo: number): Promise<void> {
  const request = { job: job(taskKey, runNo), eventId: newEventId() };
  expect(await runs.claim([request], { id: 'dead', leaseMs: 0 })).toHaveLength(1);
}

async function sweepLost(canResume = true): Promise<void> {
  await new LostRunsSweep({ runs, writer, queue, logger: new SilentLogger() }, 1_000, () => canResume).runOnce();
}

async function events(taskKey: TaskKey): Promise<[string, unknown][]> {
  const page = await log.page(taskKey, 1, { maxEvents: 100, maxBytes: 1_000_000 });
  return page.map(({ type, payload }) => [type, JSON.parse(payload)]);
}

const failed = (code: string) => ['task.failed', { error: { code, message: expect.any(String) } }];

describe('a lost run', () => {
  it('is followed by another that says so', async () => {
    const taskKey = await submitted();
    await lose(taskKey, 1);
    await sweepLost();
    expect(queue.jobs).toEqual([job(taskKey, 2)]);
    await lose(taskKey, 2);
    expect((await events(taskKey)).at(-1)).toEqual([
      'task.retrying',
      { run_no: 2, runtime_id: 'dead', reason: 'lost' },
    ]);
  });

  it('is followed by the same attempt: what went wrong before counts on', async () => {
    const taskKey = await submitted();
    await lose(taskKey, 1);
    const error = { code: 'timeout', message: 'late' };
    const guard = { kind: 'run', runNo: 1, runPos: 0 } as const;
    const dispatch = { runNo: 2, reason: 'error', delayMs: 0, attempt: 2, error } as const;
    await log.append([{ taskKey, guard, events: [], dispatch }]);
    await lose(taskKey, 2);
    await sweepLost();
    const request = { job: job(taskKey, 3), eventId: newEventId() };
    const [claim] = await runs.claim([request], { id: 'rt', leaseMs: 30_000 });
    expect(claim).toMatchObject({ runNo: 3, reason: 'lost', attempt: 2 });
  });

  it('whose task is asked to cancel between the look and the write is ended by the next sweep', async () => {
    const taskKey = await submitted();
    await lose(taskKey, 1);
    const asked = draftEvent({ type: 'task.cancel_requested', payload: { requested_by: 'alice' } });
    const late = Object.assign(Object.create(runs) as PgRunStore, {
      lostRuns: async (limit: number) => {
        const lost = await runs.lostRuns(limit);
        await log.append([{ taskKey, guard: { kind: 'control', from: ['running'] }, events: [asked] }]);
        return lost;
      },
    });
    await new LostRunsSweep({ runs: late, writer, queue, logger: new SilentLogger() }, 1_000, () => true).runOnce();
    expect((await events(taskKey)).at(-1)![0]).toBe('task.cancel_requested');
    await sweepLost();
    expect((await events(taskKey)).at(-1)).toEqual(['task.cancelled', { forced: true }]);
    expect(queue.jobs).toEqual([]);
  });

  it.each([
    ['its runner cannot resume', {}, false],
    ['its agent wants it so', { onLost: 'fail' }, true],
  ] as const)('ends the task when %s', async (_, policy, canResume) => {
    const taskKey = await submitted(policy);
    await lose(taskKey, 1);
    await sweepLost(canResume);
    expect((await events(taskKey)).at(-1)).toEqual(failed('runtime_lost'));
    expect(queue.jobs).toEqual([]);
  });

  it('is followed by a fresh start where the agent asks for that', async () => {
    const taskKey = await submitted({ onLost: 'restart' });
    await lose(taskKey, 1);
    await sweepLost(false);
    expect(queue.jobs).toEqual([job(taskKey, 2)]);
  });

  it('ends the task as poison when it was lost each time, unless a checkpoint lay between', async () => {
    const [poison, slow] = [await submitted({ maxRuns: 2 }), await submitted({ maxRuns: 2 })];
    for (const runNo of [1, 2]) {
      await lose(poison, runNo);
      await lose(slow, runNo);
      const guard = { kind: 'run', runNo, runPos: 0 } as const;
      await log.append([{ taskKey: slow, guard, events: [], checkpoint: '{}' }]);
      await sweepLost();
    }
    expect((await events(poison)).at(-1)).toEqual(failed('poison'));
    expect((await events(slow)).map(([type]) => type)).toEqual(['task.started', 'task.retrying']);
  });

  it('ends as cancelled when a cancel was asked', async () => {
    const taskKey = await submitted();
    await lose(taskKey, 1);
    const asked = draftEvent({ type: 'task.cancel_requested', payload: { requested_by: 'alice' } });
    await log.append([{ taskKey, guard: { kind: 'control', from: ['running'] }, events: [asked] }]);
    await sweepLost();
    expect((await events(taskKey)).at(-1)).toEqual(['task.cancelled', { forced: true }]);
  });

  it('is ended once, whoever sweeps, and a live one is left alone', async () => {
    const [lost, live] = [await submitted(), await submitted()];
    await lose(lost, 1);
    await runs.claim([{ job: job(live, 1), eventId: newEventId() }], { id: 'rt', leaseMs: 30_000 });
    await Promise.all(Array.from({ length: 8 }, () => sweepLost()));
    expect(queue.jobs).toEqual([job(lost, 2)]);
    expect(await events(live)).toHaveLength(1);
  });
});

describe('an outbox row', () => {
  it('that nobody has claimed is added again, one that was is not', async () => {
    const [waiting, claimed] = [await submitted(), await submitted()];
    await lose(claimed, 1);
    const due = { name: 'test.due', text: 'update outbox set next_check_at = clock_timestamp()' };
    await database.query(due, []);
    await new OutboxSweep({ runs, queue, writer }).runOnce();
    expect(queue.jobs).toMatchObject([job(waiting, 1)]);
    await new OutboxSweep({ runs, queue, writer }).runOnce();
    expect(queue.jobs).toHaveLength(1);
  });
});

describe('a task that nobody takes', () => {
  const sweep = (): Promise<void> => new OutboxSweep({ runs, queue, writer }).runOnce();
  const due = { name: 'test.due', text: 'update outbox set next_check_at = clock_timestamp()' };
  const stalled = ['task.stalled', { reason: 'no_progress', waiting_on: 'worker' }];
  /** Sweeps with every row due, until an event of the task is there. */
  const sweepUntilStalled = (taskKey: TaskKey): Promise<unknown> =>
    until(async () => {
      await database.query(due, []);
      await sweep();
      return (await events(taskKey)).some(([type]) => type === 'task.stalled');
    });

  it('is shown to wait for a worker, once, whoever sweeps, and not before its time', async () => {
    const [hasty, patient] = [await submitted({ stallSeconds: 0.3 }), await submitted({ stallSeconds: 600 })];
    await sweepUntilStalled(hasty);
    for (let round = 0; round < 3; round += 1) {
      await database.query(due, []);
      await Promise.all([sweep(), sweep(), sweep()]);
    }
    expect(await events(hasty)).toEqual([stalled]);
    expect(await events(patient)).toEqual([]);
    expect(queue.jobs.filter(({ taskKey }) => taskKey === patient).length).toBeGreaterThan(3);
  });

  it('is looked at again when that time comes, however long ago it was queued', async () => {
    const taskKey = await submitted({ stallSeconds: 1 });
    await database.query({ name: 'test.old', text: 'update outbox set tries = 9, next_check_at = now()' }, []);
    await sweep();
    expect(await events(taskKey)).toEqual([]);
    await until(async () => {
      await sweep();
      return (await events(taskKey)).length === 1;
    });
  });

  it('is taken by a claim after which nothing is waited for any more', async () => {
    const taskKey = await submitted({ stallSeconds: 0 });
    await sweepUntilStalled(taskKey);
    const [claim] = await runs.claim([{ job: job(taskKey, 1), eventId: newEventId() }], { id: 'rt', leaseMs: 30_000 });
    expect(claim).toMatchObject({ stalled: true });
    const row = { name: 'test.row', text: 'select waiting_on from tasks where task_key = $1' };
    expect(await database.query(row, [taskKey])).toEqual([{ waiting_on: null }]);
  });

  it('between two runs is shown so too, though it was stalled for another reason before', async () => {
    const taskKey = await submitted({ stallSeconds: 0 });
    await lose(taskKey, 1);
    const slow = draftEvent({ type: 'task.stalled', payload: { reason: 'no_progress', waiting_on: 'slow_tool' } });
    await log.append([{ taskKey, guard: { kind: 'control', from: ['running'] }, events: [slow] }]);
    await sweepLost();
    await database.query(due, []);
    await sweep();
    expect((await events(taskKey)).slice(1)).toEqual([['task.stalled', slow.body.payload], stalled]);
  });

  it('but is held back waits for no worker', async () => {
    const taskKey = await submitted({ stallSeconds: 0 });
    await database.query({ name: 'test.hold', text: 'delete from outbox' }, []);
    await sweep();
    expect(await events(taskKey)).toEqual([]);
  });

  it('fails at its deadline for want of a backend', async () => {
    const taskKey = await submitted({ stallSeconds: 0 }, { deadlineAtMs: Date.now() - 1_000 });
    await sweepUntilStalled(taskKey);
    await new DeadlinesSweep({ runs, writer, bus }).runOnce();
    const error = { code: 'backend_unavailable', message: expect.any(String) };
    expect((await events(taskKey)).at(-1)).toEqual(['task.failed', { error, phase: 'queued' }]);
  });
});

describe('a task past its deadline', () => {
  it('fails with the phase it was in, and the runtime at work on it is told', async () => {
    const past = { deadlineAtMs: Date.now() - 1_000 };
    const [queued, running, later] = [await submitted({}, past), await submitted({}, past), await submitted()];
    await runs.claim([{ job: job(running, 1), eventId: newEventId() }], { id: 'rt', leaseMs: 30_000 });
    const signals: string[] = [];
    await bus.listen('runtime:rt', (message) => signals.push(message));
    await new DeadlinesSweep({ runs, writer, bus }).runOnce();
    const late = (phase: string) => [
      'task.failed',
      { error: { code: 'deadline_exceeded', message: expect.any(String) }, phase },
    ];
    expect((await events(queued)).at(-1)).toEqual(late('queued'));
    expect((await events(running)).at(-1)).toEqual(late('running'));
    expect(await events(later)).toEqual([]);
    expect(signals).toEqual([`closed ${running} 1`]);
  });
});
