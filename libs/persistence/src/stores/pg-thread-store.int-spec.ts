import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventBody, NewThreadRun, TaskId } from '#lib/domain';
import { newEventId } from '#lib/platform';
import { ageTask, ownerClient } from '../../../../test/support/aged-task.js';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { createBackend, createSubmission } from '../../../../test/support/submissions.js';
import { Database } from '../database.js';
import { PgEventLog } from './pg-event-log.js';
import { PgRetention } from './pg-retention.js';
import { PgTaskStore } from './pg-task-store.js';
import { PgThreadStore } from './pg-thread-store.js';

let test: TestDatabase;
let database: Database;
let threads: PgThreadStore;
let tasks: PgTaskStore;
let backendId: string;

beforeAll(async () => {
  test = await createDatabase();
  database = new Database({ databaseUrl: test.url, max: 6, name: 'test' });
  threads = new PgThreadStore(database);
  tasks = new PgTaskStore(database);
  backendId = await createBackend(test.url);
});

afterAll(async () => {
  await database?.close();
  await test?.drop();
});

function runIn(threadId: string, runId: string, change: Partial<NewThreadRun> = {}): NewThreadRun {
  const taskId = randomUUID() as TaskId;
  const requestHash = Buffer.alloc(32, 7);
  const whose = { tenant: 'acme', principal: 'alice' };
  return { ...whose, threadId, runId, taskId, firstSeq: 1, requestHash, messageIds: [], ...change };
}

async function submit(taskId: TaskId): Promise<string> {
  const submission = createSubmission(backendId, { taskId, ownTaskId: true });
  expect((await tasks.submit(submission)).kind).toBe('created');
  return submission.taskKey;
}

async function cancel(taskKey: string): Promise<void> {
  const body: EventBody = { type: 'task.cancelled', payload: { forced: false } };
  const event = { eventId: newEventId(), body, json: JSON.stringify(body.payload) };
  const guard = { kind: 'control', from: ['queued'] } as const;
  const log = new PgEventLog(database, database);
  expect(await log.append([{ taskKey: taskKey as never, guard, events: [event] }])).toHaveLength(1);
}

const kindOf = async (run: NewThreadRun): Promise<string> => (await threads.reserve(run)).kind;

describe('the runs of a thread', () => {
  it('are reserved one at a time, however many ask at once', async () => {
    const threadId = randomUUID();
    const runs = ['a', 'b', 'c', 'd', 'e', 'f'].map((runId) => runIn(threadId, runId));
    const kinds = await Promise.all(runs.map(kindOf));
    expect(kinds.sort()).toEqual(['busy', 'busy', 'busy', 'busy', 'busy', 'made']);
  });

  it('are of one principal, however many begin it at once, and of whoever has a task of its name', async () => {
    const threadId = randomUUID();
    const whose = ['alice', 'bob', 'carol', 'dave'];
    const kinds = await Promise.all(whose.map((principal) => kindOf(runIn(threadId, principal, { principal }))));
    expect(kinds.sort()).toEqual(['foreign', 'foreign', 'foreign', 'made']);
    const task = randomUUID();
    await submit(task as TaskId);
    expect(await kindOf(runIn(task, 'r', { principal: 'bob' }))).toBe('foreign');
    expect(await threads.find({ tenant: 'acme', threadId: task })).toBeUndefined();
    expect(await kindOf(runIn(task, 'r', { principal: 'bob', tenant: 'other' }))).toBe('made');
    expect(await kindOf(runIn(task, 'r', { taskId: task as TaskId }))).toBe('made');
  });

  it('of one name are one run, however many ask at once', async () => {
    const threadId = randomUUID();
    const reservations = await Promise.all([1, 2, 3].map(() => threads.reserve(runIn(threadId, 'same'))));
    const made = reservations.filter(({ kind }) => kind === 'made');
    const known = reservations.flatMap((one) => (one.kind === 'known' ? [one.run.taskId] : []));
    expect(made).toHaveLength(1);
    const { run } = (await threads.find({ tenant: 'acme', threadId }, 'same'))!;
    expect(known).toEqual([run!.taskId, run!.taskId]);
  });

  it('wait for the task before to end, and for nothing that was taken back', async () => {
    const threadId = randomUUID();
    const first = runIn(threadId, 'first');
    await threads.reserve(first);
    const taskKey = await submit(first.taskId);
    expect(await kindOf(runIn(threadId, 'early'))).toBe('busy');
    // The same task goes on in a run of its own.
    const next = { taskId: first.taskId, firstSeq: 4, waitId: 'w1', answersHash: Buffer.alloc(32, 9) };
    expect(await kindOf(runIn(threadId, 'next', next))).toBe('made');
    await cancel(taskKey);
    const last = runIn(threadId, 'last');
    expect(await kindOf(last)).toBe('made');
    expect(await kindOf(runIn(threadId, 'other'))).toBe('busy');
    await threads.release(last, 'last');
    expect(await kindOf(runIn(threadId, 'other'))).toBe('made');
    const found = await threads.runs({ tenant: 'acme', threadId });
    expect(found.map(({ runId, firstSeq, waitId }) => [runId, firstSeq, waitId])).toEqual([
      ['first', 1, undefined],
      ['next', 4, 'w1'],
      ['other', 1, undefined],
    ]);
    const name = { tenant: 'acme', threadId };
    expect(await threads.answered(name, Buffer.alloc(32, 9))).toMatchObject({ runId: 'next' });
    expect(await threads.answered({ ...name, tenant: 'other' }, Buffer.alloc(32, 9))).toBeUndefined();
    expect(await threads.find({ ...name, tenant: 'other' })).toBeUndefined();
  });

  it('know what they have heard, but for the one that asks', async () => {
    const threadId = randomUUID();
    await threads.reserve(runIn(threadId, 'one', { messageIds: ['m1', 'm2'] }));
    const name = { tenant: 'acme', threadId };
    expect(await threads.heard(name, 'two', ['m2', 'm3'])).toEqual(new Set(['m2']));
    expect(await threads.heard(name, 'one', ['m2', 'm3'])).toEqual(new Set());
  });

  it('are forgotten with their tasks, and the thread with its last run', async () => {
    const threadId = randomUUID();
    const name = { tenant: 'acme', threadId };
    const [old, young] = [runIn(threadId, 'old'), runIn(threadId, 'young')];
    const keys: string[] = [];
    for (const run of [old, young]) {
      expect(await kindOf(run)).toBe('made');
      keys.push(await submit(run.taskId));
      await cancel(keys.at(-1)!);
    }
    const owner = await ownerClient(test.url);
    try {
      await ageTask(owner, keys[0]!, 40);
      while ((await new PgRetention(database).prune(100)) > 0);
      expect((await threads.runs(name)).map(({ runId }) => runId)).toEqual(['young']);
      await ageTask(owner, keys[1]!, 40);
      while ((await new PgRetention(database).prune(100)) > 0);
      expect(await threads.find(name)).toBeUndefined();
    } finally {
      await owner.end();
    }
  });
});
