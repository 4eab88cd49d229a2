import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Submission, TaskKey } from '#lib/domain';
import { Database, PgEventLog, PgRunStore, PgSessionStore, PgTaskStore } from '#lib/persistence';
import { newEventId } from '#lib/platform';
import { createDatabase, type TestDatabase } from '../../../test/support/database.js';
import { MemoryEventBus } from '../../../test/support/memory-event-bus.js';
import { MemoryRunQueue } from '../../../test/support/memory-run-queue.js';
import { SilentLogger } from '../../../test/support/silent-logger.js';
import { createBackend, createSubmission } from '../../../test/support/submissions.js';
import { until } from '../../../test/support/until.js';
import { draftEvent } from './admission.js';
import { EventWriter } from './event.writer.js';
import { SessionAdvancer } from './session.advancer.js';
import { SessionsSweep } from './sweeps/sessions.sweep.js';
import { RunCursor } from './write-queue.js';

let test: TestDatabase;
let database: Database;
let tasks: PgTaskStore;
let log: PgEventLog;
let runs: PgRunStore;
let queue: MemoryRunQueue;
let bus: MemoryEventBus;
let writer: EventWriter;
let advancer: SessionAdvancer;
let backend: string;

beforeEach(async () => {
  test = await createDatabase();
  database = new Database({ databaseUrl: test.url, max: 4, name: 'test' });
  tasks = new PgTaskStore(database);
  log = new PgEventLog(database, database);
  runs = new PgRunStore(database);
  queue = new MemoryRunQueue();
  bus = new MemoryEventBus();
  const logger = new SilentLogger();
  writer = new EventWriter({ log, bus, logger });
  advancer = new SessionAdvancer({ sessions: new PgSessionStore(database), writer, queue, bus, logger });
  backend = await createBackend(test.url);
});

afterEach(async () => {
  await writer.close();
  await advancer.close();
  await database.close();
  await test.drop();
});

async function submitted(change: Partial<Submission> = {}): Promise<TaskKey> {
  const submission = createSubmission(backend, { sessionId: 's', ...change });
  expect((await tasks.submit(submission)).kind).toBe('created');
  return submission.taskKey;
}

const job = (taskKey: TaskKey) => ({ taskKey, runNo: 1, tenant: 'acme', pool: 'scripted', priority: 5, delayMs: 0 });

async function claimed(taskKey: TaskKey): Promise<RunCursor> {
  const claims = await runs.claim([{ job: job(taskKey), eventId: newEventId() }], { id: 'rt', leaseMs: 30_000 });
  expect(claims).toHaveLength(1);
  return new RunCursor(1);
}

const nameOf = (taskKey: TaskKey) => taskKey as string as Submission['taskId'];
const types = async (taskKey: TaskKey): Promise<string[]> =>
  (await log.page(taskKey, 0, { maxEvents: 100, maxBytes: 1 << 20 })).map(({ type }) => type);
const succeeded = () =>
  draftEvent({ type: 'task.succeeded', payload: { result: { text: 'done', metadata: { model: 'scripted' } } } });
const cancelled = () => draftEvent({ type: 'task.cancelled', payload: { forced: false } });
const due = () => database.query({ name: '', text: 'update session_advance set next_check_at = to_timestamp(0)' }, []);

describe('the end of a task', () => {
  it('puts the next task of its session into the queue, with no sweep', async () => {
    const [first, second] = [await submitted(), await submitted()];
    const guard = await claimed(first);
    await writer.append({ taskKey: first, taskId: nameOf(first), guard, events: [succeeded()], session: {} });
    await until(() => queue.jobs.length > 0);
    expect(queue.jobs).toEqual([job(second)]);
  });

  it('does so too when it came from outside the run', async () => {
    const [first, second] = [await submitted(), await submitted()];
    const guard = { kind: 'control', from: ['queued'] } as const;
    await writer.append({ taskKey: first, taskId: nameOf(first), guard, events: [cancelled()] });
    await until(() => queue.jobs.length > 0);
    expect(queue.jobs).toEqual([job(second)]);
  });

  it('is followed up by the sweep of another process when this one died after the commit', async () => {
    const [first, second] = [await submitted(), await submitted()];
    const guard = { kind: 'control', from: ['queued'] } as const;
    await log.append([{ taskKey: first, guard, events: [cancelled()] }]);
    const sweep = new SessionsSweep(advancer);
    await sweep.runOnce();
    expect(queue.jobs).toEqual([]);
    await due();
    await Promise.all([sweep.runOnce(), sweep.runOnce()]);
    expect(queue.jobs).toEqual([job(second)]);
    await due();
    await sweep.runOnce();
    expect(queue.jobs).toHaveLength(1);
  });
});

describe('a task that takes over its session', () => {
  const over = { sessionStrategy: 'interrupt' } as const;

  it('has the waiting ones cancelled, the running one asked to stop, and comes after it', async () => {
    const [running, waiting] = [await submitted(), await submitted()];
    const guard = await claimed(running);
    const signals: string[] = [];
    await bus.listen('runtime:rt', (message) => signals.push(message));
    const last = await submitted(over);
    advancer.advance([last]);
    await until(async () => (await types(running)).includes('task.cancel_requested'));
    expect(await types(waiting)).toEqual(['task.created', 'task.cancel_requested', 'task.cancelled']);
    expect(signals).toEqual([`cancel ${running} 1`]);
    expect(queue.jobs).toEqual([]);
    await writer.append({ taskKey: running, taskId: nameOf(running), guard, events: [cancelled()], session: {} });
    await until(() => queue.jobs.length > 0);
    expect(queue.jobs).toEqual([job(last)]);
  });

  it('is helped by the sweep when its gateway died after the commit, and nobody before it starts meanwhile', async () => {
    const [first, second] = [await submitted(), await submitted()];
    const last = await submitted(over);
    const guard = { kind: 'control', from: ['queued'] } as const;
    await log.append([{ taskKey: first, guard, events: [cancelled()] }]);
    await due();
    await new SessionsSweep(advancer).runOnce();
    await until(() => queue.jobs.length > 0);
    expect(await types(second)).toEqual(['task.created', 'task.cancel_requested', 'task.cancelled']);
    expect(queue.jobs).toEqual([job(last)]);
  });
});
