import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Append, EventBody, Submission, TaskKey } from '#lib/domain';
import { newEventId } from '#lib/platform';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { assertProjections } from '../../../../test/support/projections.js';
import { createBackend, createSubmission } from '../../../../test/support/submissions.js';
import { Database } from '../database.js';
import { PgEventLog } from './pg-event-log.js';
import { PgRunStore } from './pg-run-store.js';
import { PgSessionStore } from './pg-session-store.js';
import { PgTaskRecords } from './pg-task-records.js';
import { PgTaskStore } from './pg-task-store.js';

let test: TestDatabase;
let databases: readonly [Database, Database];
let store: PgTaskStore;
let sessions: PgSessionStore;
let records: PgTaskRecords;
let logs: readonly [PgEventLog, PgEventLog];
let runs: PgRunStore;
let backendId: string;

beforeAll(async () => {
  test = await createDatabase();
  const open = (name: string): Database => new Database({ databaseUrl: test.url, max: 4, name });
  databases = [open('one'), open('two')];
  store = new PgTaskStore(databases[0]);
  sessions = new PgSessionStore(databases[0]);
  records = new PgTaskRecords(databases[0]);
  logs = [new PgEventLog(databases[0], databases[0]), new PgEventLog(databases[1], databases[1])];
  runs = new PgRunStore(databases[0]);
  backendId = await createBackend(test.url);
});

afterAll(async () => {
  try {
    await assertProjections(test.url);
  } finally {
    await Promise.all(databases.map((database) => database.close()));
    await test.drop();
  }
});

const HOUR_MS = 3_600_000;

/** A task that is held for so long. */
async function held(ms = HOUR_MS, change: Partial<Submission> = {}): Promise<TaskKey> {
  const heldUntilMs = Date.now() + ms;
  const submission = createSubmission(backendId, { heldUntilMs, ...change });
  const outcome = await store.submit(submission);
  if (outcome.kind !== 'created' || outcome.turn !== 'later') throw new Error(JSON.stringify(outcome));
  return submission.taskKey;
}

const draft = (body: EventBody) => ({ eventId: newEventId(), body, json: JSON.stringify(body.payload) });

function control(taskKey: TaskKey, body: EventBody, more: Partial<Append> = {}): Append {
  const guard = {
    kind: 'control',
    from: ['queued'],
    ...(body.type === 'task.cancelled' ? {} : { held: true }),
  } as const;
  return { taskKey, guard, events: [draft(body)], ...more };
}

const released = (taskKey: TaskKey): Append => control(taskKey, { type: 'task.released', payload: {} });
const expired = (taskKey: TaskKey): Append =>
  control(taskKey, { type: 'task.failed', payload: { error: { code: 'held_expired', message: 'm' } } });
const cancelled = (taskKey: TaskKey): Append =>
  control(taskKey, { type: 'task.cancelled', payload: { forced: false } });

async function outbox(taskKey: TaskKey): Promise<readonly unknown[]> {
  return databases[0].query({ name: '', text: 'select run_no, reason from outbox where task_key = $1' }, [taskKey]);
}

function claim(taskKey: TaskKey) {
  const job = { taskKey, runNo: 1, tenant: 'acme', pool: 'scripted', priority: 5, delayMs: 0 };
  return runs.claim([{ job, eventId: newEventId() }], { id: 'r', leaseMs: 30_000 });
}

async function typesOf(taskKey: TaskKey): Promise<string[]> {
  return (await logs[0].page(taskKey, 0, { maxEvents: 100, maxBytes: 1 << 20 })).map(({ type }) => type);
}

describe('a held task', () => {
  it('has nothing that could start it, and says until when', async () => {
    const key = await held();
    const task = await store.snapshot({ tenant: 'acme' }, key as never);
    expect([task?.state, task!.heldUntilMs! > Date.now(), await outbox(key)]).toEqual(['queued', true, []]);
  });

  it('is released by one of many who try at once, and then runs', async () => {
    const key = await held();
    const stored = await Promise.all(Array.from({ length: 8 }, (_, n) => logs[n % 2]!.append([released(key)])));
    expect(stored.flat()).toHaveLength(1);
    expect(await outbox(key)).toEqual([{ run_no: 1, reason: 'submitted' }]);
    expect((await store.snapshot({ tenant: 'acme' }, key as never))?.heldUntilMs).toBeNull();
    expect(await claim(key)).toHaveLength(1);
    expect(await typesOf(key)).toEqual(['task.created', 'task.released', 'task.started']);
  });

  it.each([
    ['an expiry', expired],
    ['a cancel', cancelled],
  ])('comes to one thing when it is released and meets %s at once', async (_, end) => {
    for (let round = 0; round < 10; round += 1) {
      const key = await held();
      await Promise.all([logs[0].append([released(key)]), logs[1].append([end(key)])]);
      const types = await typesOf(key);
      const isReleased = types.includes('task.released');
      const isEnded = types.some((type) => type === 'task.failed' || type === 'task.cancelled');
      // A cancel may follow the release, an expiry may not, and nothing follows an end.
      expect([isReleased || isEnded, isReleased && isEnded && end === expired]).toEqual([true, false]);
      // A row that the cancel could not see yet starts nothing.
      expect(await claim(key)).toHaveLength(isEnded ? 0 : 1);
    }
  });

  it('is found when its time is over, unless it was released or has ended', async () => {
    const [late, free, gone] = [await held(-1), await held(-1), await held(-1)];
    await logs[0].append([released(free), cancelled(gone)]);
    const found = (await runs.expiredHolds(100)).map(({ taskKey }) => taskKey);
    expect([late, free, gone].map((key) => found.includes(key))).toEqual([true, false, false]);
    await logs[0].append([expired(late)]);
    expect((await runs.expiredHolds(100)).map(({ taskKey }) => taskKey)).not.toContain(late);
  });

  it('gets what it was not asked before with its release, and nothing in place of what it was', async () => {
    const [empty, full] = [await held(HOUR_MS, { input: '""' }), await held()];
    await logs[0].append([empty, full].map((key) => ({ ...released(key), input: '"later"' })));
    const asked = await records.asked([empty, full], { maxRequestBytes: 100, maxArtifacts: 1 });
    expect(asked.map(({ input }) => input)).toEqual(['"later"', '"hello"']);
  });

  it('is given files, in the order they came, by many at once', async () => {
    const key = await held();
    const give = (n: number): Append => {
      const artifact = { artifact_id: `art_${String(n).padStart(32, '0')}`, kind: 'input', name: `${n}` } as const;
      const body = { ...artifact, media_type: 'text/plain', size: 1, sha256: 'ab', relative_path: 'in' };
      return control(key, { type: 'artifact.created', payload: { artifact: body } });
    };
    await Promise.all([1, 2, 3, 4].map((n) => logs[n % 2]!.append([give(n)])));
    await logs[0].append([released(key)]);
    const [run] = await claim(key);
    const names = (await typesOf(key)).filter((type) => type === 'artifact.created');
    expect([names.length, run?.inputArtifacts.map(({ name }) => name).sort()]).toEqual([4, ['1', '2', '3', '4']]);
    expect(run?.inputArtifacts[0]).toMatchObject({ kind: 'input', relative_path: 'in' });
  });
});

describe('a held task of a session', () => {
  const inSession = (sessionId: string): Promise<TaskKey> => held(HOUR_MS, { sessionId });
  const next = async (sessionId: string): Promise<TaskKey> => {
    const submission = createSubmission(backendId, { sessionId });
    await store.submit(submission);
    return submission.taskKey;
  };

  it('keeps its place: those behind it wait until it has run', async () => {
    const first = await inSession('s1');
    const second = await next('s1');
    expect((await sessions.advanceDue(100)).jobs).toEqual([]);
    expect((await store.snapshot({ tenant: 'acme' }, second as never))?.blockedBy).toBe(first);
    await logs[0].append([released(first)]);
    expect(await outbox(first)).toEqual([]);
    expect((await sessions.advance([first])).jobs.map(({ taskKey }) => taskKey)).toEqual([first]);
    expect([await outbox(first), await outbox(second)]).toEqual([[{ run_no: 1, reason: 'submitted' }], []]);
  });

  it('is not given the turn before it is released', async () => {
    const first = await next('s4');
    const second = await inSession('s4');
    await logs[0].append([cancelled(first)]);
    expect((await sessions.advance([first])).jobs).toEqual([]);
    await logs[0].append([released(second)]);
    expect((await sessions.advance([second])).jobs.map(({ taskKey }) => taskKey)).toEqual([second]);
  });

  it('that is released out of turn gets it when it comes', async () => {
    const first = await next('s2');
    const second = await inSession('s2');
    await logs[0].append([released(second)]);
    expect((await sessions.advance([second])).jobs).toEqual([]);
    await logs[0].append([cancelled(first)]);
    expect((await sessions.advance([first])).jobs.map(({ taskKey }) => taskKey)).toEqual([second]);
  });

  it('that ends before anybody has released it hands on the turn', async () => {
    const first = await inSession('s3');
    const second = await next('s3');
    await logs[0].append([expired(first)]);
    expect((await sessions.advance([first])).jobs.map(({ taskKey }) => taskKey)).toEqual([second]);
  });

  it('hands on the turn when it is released, looked at and cancelled all at once', async () => {
    for (let round = 0; round < 20; round += 1) {
      const first = await inSession(`r${round}`);
      const second = await next(`r${round}`);
      await Promise.all([
        logs[0].append([released(first)]).then(() => sessions.advance([first])),
        logs[1].append([cancelled(first)]),
      ]);
      await sessions.advance([first]);
      expect(await outbox(second)).toHaveLength(1);
    }
  });
});

describe('the cursor of steps', () => {
  it('is moved by one of many who stand at the same place', async () => {
    const key = await held();
    const moved = await Promise.all([3, 4, 5, 6].map((to) => records.moveStepCursor(key, 0, to)));
    expect(moved.filter(Boolean)).toHaveLength(1);
    expect(await records.stepCursor(key)).toBe(moved.indexOf(true) + 3);
  });
});
