import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RunJob, Submission, SubmitOutcome, TaskId, TaskKey } from '#lib/domain';
import { newEventId } from '#lib/platform';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { createBackend, createSubmission } from '../../../../test/support/submissions.js';
import { Database } from '../database.js';
import { PgEventLog } from './pg-event-log.js';
import { PgRunStore } from './pg-run-store.js';
import { PgSessionStore } from './pg-session-store.js';
import { PgTaskStore } from './pg-task-store.js';

let test: TestDatabase;
let databases: readonly [Database, Database];
let stores: readonly [PgTaskStore, PgTaskStore];
let sessions: readonly [PgSessionStore, PgSessionStore];
let log: PgEventLog;
let runs: PgRunStore;
let backendId: string;
let otherBackendId: string;

beforeAll(async () => {
  test = await createDatabase();
  databases = [
    new Database({ databaseUrl: test.url, max: 4, name: 'one' }),
    new Database({ databaseUrl: test.url, max: 4, name: 'two' }),
  ];
  stores = [new PgTaskStore(databases[0]), new PgTaskStore(databases[1])];
  sessions = [new PgSessionStore(databases[0]), new PgSessionStore(databases[1])];
  log = new PgEventLog(databases[0], databases[0]);
  runs = new PgRunStore(databases[0]);
  backendId = await createBackend(test.url);
  otherBackendId = await createBackend(test.url, { maxRuns: 7 });
});

afterAll(async () => {
  await Promise.all(databases.map((database) => database.close()));
  await test.drop();
});

const inSession = (sessionId: string, change: Partial<Submission> = {}): Submission =>
  createSubmission(backendId, { sessionId, ...change });

async function submitted(
  submission: Submission,
  store = stores[0],
): Promise<Extract<SubmitOutcome, { kind: 'created' }>> {
  const outcome = await store.submit(submission);
  if (outcome.kind !== 'created') throw new Error(outcome.kind);
  return outcome;
}

interface Row {
  readonly task_key: TaskKey;
  readonly ordinal: number;
  readonly is_sent: boolean;
}

/** The tasks of a session as they stand in line. */
function line(sessionId: string): Promise<readonly Row[]> {
  const text = `select t.task_key, t.ordinal::int as ordinal, exists (select from outbox o where o.task_key = t.task_key) as is_sent
    from tasks t where t.session_id = $1 order by t.created_at, t.ordinal`;
  return databases[0].query<Row & Record<string, unknown>>({ name: '', text }, [sessionId]);
}

async function notes(sessionId: string): Promise<number> {
  const text = 'select count(*)::int as count from session_advance where session_id = $1';
  const [row] = await databases[0].query<{ count: number }>({ name: '', text }, [sessionId]);
  return row?.count ?? -1;
}

const draft = (body: Parameters<typeof event>[0]) => event(body);
function event(body: Submission['created']['body']): Submission['created'] {
  return { eventId: newEventId(), body, json: JSON.stringify(body.payload) };
}

async function claimed(job: Pick<RunJob, 'taskKey'>): Promise<void> {
  const whole = { taskKey: job.taskKey, runNo: 1, tenant: 'acme', pool: 'scripted', priority: 5, delayMs: 0 };
  const claims = await runs.claim([{ job: whole, eventId: newEventId() }], { id: 'rt', leaseMs: 30_000 });
  expect(claims).toHaveLength(1);
}

const succeeded = draft.bind(undefined, {
  type: 'task.succeeded',
  payload: { result: { text: 'done', metadata: { model: 'scripted' } } },
});
const cancelled = draft.bind(undefined, { type: 'task.cancelled', payload: { forced: false } });

/** Runs a task whose turn it is to its end, as a runtime does. */
async function succeed(taskKey: TaskKey): Promise<void> {
  await claimed({ taskKey });
  const guard = { kind: 'run', runNo: 1, runPos: 0 } as const;
  expect(await log.append([{ taskKey, guard, events: [succeeded()], session: {} }])).toHaveLength(1);
}

async function cancel(taskKey: TaskKey): Promise<void> {
  const guard = { kind: 'control', from: ['queued'] } as const;
  expect(await log.append([{ taskKey, guard, events: [cancelled()] }])).toHaveLength(1);
}

const snapshot = async (taskKey: TaskKey) => stores[1].snapshot({ tenant: 'acme' }, taskKey as string as TaskId);

describe('sessions', () => {
  it('give 64 tasks that two gateways submit at once to 4 of them dense places, and one of each its turn', async () => {
    const names = ['a', 'b', 'c', 'd'].map((name) => `many-${name}`);
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, (_, index) =>
        submitted(inSession(names[index % 4] as string), stores[Math.floor(index / 4) % 2]),
      ),
    );
    expect(outcomes.filter(({ turn }) => turn === 'now')).toHaveLength(4);
    for (const name of names) {
      const rows = await line(name);
      expect(rows.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: 16 }, (_, index) => index + 1));
      expect(rows.map(({ is_sent }) => is_sent)).toEqual(rows.map(({ ordinal }) => ordinal === 1));
      expect(outcomes.find(({ turn, taskKey }) => turn === 'now' && taskKey === rows[0]?.task_key)).toBeDefined();
    }
  });

  it('run their tasks one after another in the order they were submitted, whichever process hands on the turn', async () => {
    const keys: TaskKey[] = [];
    for (let index = 0; index < 5; index += 1) {
      keys.push((await submitted(inSession('order'), stores[index % 2 === 0 ? 0 : 1])).taskKey);
    }
    for (const [index, taskKey] of keys.entries()) {
      await succeed(taskKey);
      expect(await notes('order')).toBe(1);
      const turns = await Promise.all(sessions.map((store) => store.advance([taskKey])));
      const next = keys[index + 1];
      expect(turns.flatMap(({ jobs }) => jobs)).toEqual(
        next === undefined
          ? []
          : [{ taskKey: next, runNo: 1, tenant: 'acme', pool: 'scripted', priority: 5, delayMs: 0 }],
      );
      expect(await notes('order')).toBe(0);
    }
  });

  it('let a task submitted after the end of all others start at once, though their notes are not worked off', async () => {
    const { taskKey } = await submitted(inSession('idle'));
    await succeed(taskKey);
    const next = await submitted(inSession('idle'));
    expect(next.turn).toBe('now');
    expect(await sessions[0].advance([taskKey])).toEqual({ jobs: [], overtaken: [] });
    await succeed(next.taskKey);
  });

  it('give the turn exactly once, however the end of a task and the submission of the next one meet', async () => {
    for (let round = 0; round < 40; round += 1) {
      const name = `race-${round}`;
      const { taskKey } = await submitted(inSession(name));
      await claimed({ taskKey });
      const guard = { kind: 'run', runNo: 1, runPos: 0 } as const;
      const end = log
        .append([{ taskKey, guard, events: [succeeded()], session: {} }])
        .then(() => sessions[0].advance([taskKey]));
      const [turns, next] = await Promise.all([end, submitted(inSession(name), stores[1])]);
      const later = await sessions[1].advance([taskKey]);
      const given = [...turns.jobs, ...later.jobs].filter((job) => job.taskKey === next.taskKey).length;
      expect(given + (next.turn === 'now' ? 1 : 0)).toBe(1);
      await succeed(next.taskKey);
    }
  });

  it('are kept apart by agent, user and tenant', async () => {
    const apart = [
      inSession('apart'),
      inSession('apart', { userId: 'carol' }),
      inSession('apart', { principal: 'bob' }),
      inSession('apart', { tenant: 'other' }),
      inSession('apart', { agentId: 'b' }),
    ];
    const outcomes = await Promise.all(apart.map((submission) => submitted(submission)));
    expect(outcomes.map(({ turn }) => turn)).toEqual(apart.map(() => 'now'));
    // Whoever may speak for the user: the session is the user's.
    const other = { principal: 'bob', userId: 'carol', reachesOthers: true };
    expect((await submitted(inSession('apart', other))).turn).toBe('later');
  });

  it('leave no trace of tasks that have none', async () => {
    const { taskKey, turn } = await submitted(createSubmission(backendId));
    expect(turn).toBe('now');
    await cancel(taskKey);
    expect(await sessions[0].advance([taskKey])).toEqual({ jobs: [], overtaken: [] });
    const text = 'select count(*)::int as count from sessions where session_id is null';
    expect(await databases[0].query({ name: '', text }, [])).toEqual([{ count: 0 }]);
  });
});

describe('a task in line', () => {
  it('says which task is in front of it, and frees nothing when it is cancelled there', async () => {
    const [first, second, third] = [
      (await submitted(inSession('line'))).taskKey,
      (await submitted(inSession('line'))).taskKey,
      (await submitted(inSession('line'))).taskKey,
    ];
    const inFront = async () => [
      (await snapshot(first))?.blockedBy,
      (await snapshot(second))?.blockedBy,
      (await snapshot(third))?.blockedBy,
    ];
    expect(await inFront()).toEqual([null, first, second]);
    await claimed({ taskKey: first });
    await cancel(second);
    expect(await sessions[0].advance([second])).toEqual({ jobs: [], overtaken: [] });
    expect(await inFront()).toEqual([null, null, first]);
    const guard = { kind: 'run', runNo: 1, runPos: 0 } as const;
    await log.append([{ taskKey: first, guard, events: [succeeded()], session: {} }]);
    expect((await sessions[0].advance([first])).jobs.map(({ taskKey }) => taskKey)).toEqual([third]);
    expect(await inFront()).toEqual([null, null, null]);
  });

  it('gets its turn from the sweep when nobody else gave it', async () => {
    const [first, second] = [
      (await submitted(inSession('swept'))).taskKey,
      (await submitted(inSession('swept'))).taskKey,
    ];
    await cancel(first);
    expect(await sessions[0].advanceDue(100)).toEqual({ jobs: [], overtaken: [] });
    const text = `update session_advance set next_check_at = to_timestamp(0) where session_id = 'swept'`;
    await databases[0].query({ name: '', text }, []);
    const turns = await Promise.all(sessions.map((store) => store.advanceDue(100)));
    expect(turns.flatMap(({ jobs }) => jobs.map(({ taskKey }) => taskKey))).toEqual([second]);
    expect(await notes('swept')).toBe(0);
  });

  it('is not called overlong the moment it gets its turn, however long it stood', async () => {
    const hasty = await createBackend(test.url, { stallSeconds: 0 });
    const line = ['turn-1', 'turn-2'].map((name) => createSubmission(hasty, { sessionId: name }));
    const keys = await Promise.all(line.map(async (submission) => (await submitted(submission)).taskKey));
    const alone = (await submitted(createSubmission(hasty))).taskKey;
    const overlong = async (): Promise<TaskKey[]> => {
      const text = 'update outbox set next_check_at = to_timestamp(0) where task_key = any ($1::uuid[])';
      await databases[0].query({ name: '', text }, [[...keys, alone]]);
      return (await runs.dueJobs(500)).flatMap(({ taskKey, isOverlong }) => (isOverlong ? [taskKey] : []));
    };
    expect(await overlong()).toEqual([alone]);
    expect(await overlong()).toEqual([alone]);
    expect(new Set(await overlong())).toEqual(new Set([alone, ...keys]));
    await Promise.all([...keys, alone].map(cancel));
  });

  it('leaves no job behind when it is cancelled while it gets its turn', async () => {
    const names = Array.from({ length: 20 }, (_, round) => `leak-${round}`);
    for (const name of names) {
      const [first, second] = [(await submitted(inSession(name))).taskKey, (await submitted(inSession(name))).taskKey];
      await cancel(first);
      await Promise.all([sessions[0].advance([first]), cancel(second)]);
    }
    const due = `update outbox set next_check_at = to_timestamp(0) where task_key in (select task_key from tasks where session_id like 'leak-%')`;
    await databases[0].query({ name: '', text: due }, []);
    const ended = new Set((await Promise.all(names.map(line))).flat().map(({ task_key }) => task_key));
    const jobs = (await runs.dueJobs(500)).filter(({ taskKey }) => ended.has(taskKey));
    const left = `select count(*)::int as count from outbox join tasks using (task_key) where session_id like 'leak-%'`;
    expect(await databases[0].query({ name: '', text: left }, [])).toEqual([{ count: 0 }]);
    expect(jobs).toEqual([]);
  });
});

describe('a session that keeps a backend', () => {
  it('answers it to a task that comes with another, and stores nothing', async () => {
    await submitted(inSession('kept'));
    const other = createSubmission(otherBackendId, { sessionId: 'kept' });
    expect(await stores[1].submit(other)).toEqual({
      kind: 'elsewhere',
      backend: { id: backendId, runner: 'scripted', pool: 'scripted' },
    });
    expect(await line('kept')).toHaveLength(1);
  });
});

describe('a task that wants its session for itself', () => {
  const alone = (name: string, change: Partial<Submission> = {}) =>
    inSession(name, { sessionStrategy: 'reject', ...change });

  it('is refused while another has not ended: of many at once one goes in', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 32 }, (_, index) => stores[index % 2 === 0 ? 0 : 1].submit(alone('reject'))),
    );
    expect(outcomes.filter(({ kind }) => kind === 'created')).toHaveLength(1);
    expect(outcomes.filter(({ kind }) => kind === 'busy')).toHaveLength(31);
    const rows = await line('reject');
    expect(rows.map(({ ordinal }) => ordinal)).toEqual([1]);
    await cancel((rows[0] as Row).task_key);
    expect((await submitted(alone('reject'))).turn).toBe('now');
  });

  it('is answered when it comes again, one key or two, though it would be refused now', async () => {
    const keyed = { idempotencyKey: 'once' };
    const { taskKey } = await submitted(alone('again', keyed));
    const outcomes = await Promise.all([
      stores[0].submit(alone('again', keyed)),
      stores[1].submit(alone('again', keyed)),
      stores[1].submit(alone('again', { ...keyed, bodyHash: Buffer.alloc(32, 2) })),
      stores[0].submit(alone('again')),
    ]);
    expect(outcomes).toEqual([
      { kind: 'existing', taskKey, taskId: taskKey },
      { kind: 'existing', taskKey, taskId: taskKey },
      { kind: 'conflict' },
      { kind: 'busy' },
    ]);
    const both = { ownTaskId: true, idempotencyKey: 'both', taskId: 'both' as TaskId };
    expect(await stores[0].submit(alone('again', both))).toEqual({ kind: 'busy' });
    expect(await stores[0].find(alone('again', both))).toBeUndefined();
  });
});

describe('a session of another principal', () => {
  it('takes tasks of its own and of those who reach all, whichever gateway and however many at once', async () => {
    const alice = { userId: 'owned', principal: 'alice' };
    const tries = [...Array(8).keys()].map((index) =>
      stores[index % 2]!.submit(inSession('owned', { ...alice, principal: index < 4 ? 'alice' : 'mallory' })),
    );
    const outcomes = await Promise.all(tries);
    const text = `select created_by from sessions where session_id = 'owned'`;
    const [session] = await databases[0].query<{ created_by: string }>({ name: '', text }, []);
    const [first, second] = session!.created_by === 'alice' ? [0, 4] : [4, 0];
    expect(outcomes.slice(first, first + 4).map(({ kind }) => kind)).toEqual(Array(4).fill('created'));
    expect(outcomes.slice(second, second + 4)).toEqual(Array(4).fill({ kind: 'foreign' }));
    const strategies = ['enqueue', 'reject', 'interrupt'] as const;
    for (const sessionStrategy of strategies) {
      const stranger = inSession('owned', { ...alice, principal: 'eve', sessionStrategy });
      expect(await stores[1].submit(stranger)).toEqual({ kind: 'foreign' });
    }
    const reaching = inSession('owned', { ...alice, principal: 'admin', reachesOthers: true });
    expect(await stores[0].submit(reaching)).toMatchObject({ kind: 'created', turn: 'later' });
    expect(await line('owned')).toHaveLength(5);
  });
});

describe('a task that takes over its session', () => {
  it('has those before it ended, gets its turn after the last of them, and is answered until they are', async () => {
    const [running, waiting] = [
      (await submitted(inSession('over'))).taskKey,
      (await submitted(inSession('over'))).taskKey,
    ];
    await claimed({ taskKey: running });
    const over = await submitted(
      inSession('over', { sessionStrategy: 'interrupt', principal: 'alice', reachesOthers: true }),
      stores[1],
    );
    const behind = await submitted(inSession('over'));
    expect([over.turn, behind.turn]).toEqual(['over', 'later']);
    const by = { taskId: over.taskId, principal: 'alice', tenant: 'acme' };
    const toEnd = [
      expect.objectContaining({ taskKey: running, state: 'running', runOpen: true, runtimeId: 'rt', by }),
      expect.objectContaining({ taskKey: waiting, state: 'queued', runOpen: false, runtimeId: null, by }),
    ];
    for (const store of sessions) {
      const turns = await store.advance([over.taskKey]);
      expect(turns.jobs).toEqual([]);
      expect(turns.overtaken).toHaveLength(2);
      expect(turns.overtaken).toEqual(expect.arrayContaining(toEnd));
    }
    await cancel(waiting);
    const asked = event({ type: 'task.cancel_requested', payload: { requested_by: 'alice' } });
    await log.append([{ taskKey: running, guard: { kind: 'control', from: ['running'] }, events: [asked] }]);
    expect(await sessions[0].advance([over.taskKey, waiting])).toEqual({ jobs: [], overtaken: [] });
    expect(await notes('over')).toBe(0);
    const guard = { kind: 'run', runNo: 1, runPos: 0 } as const;
    await log.append([{ taskKey: running, guard, events: [cancelled()], session: {} }]);
    expect((await sessions[1].advance([running])).jobs.map(({ taskKey }) => taskKey)).toEqual([over.taskKey]);
  });

  it('starts at once in a session where nothing runs', async () => {
    expect((await submitted(inSession('free', { sessionStrategy: 'interrupt' }))).turn).toBe('now');
    expect(await notes('free')).toBe(0);
  });

  it('is followed by one winner when several do so at once', async () => {
    const first = await submitted(inSession('several'));
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        submitted(inSession('several', { sessionStrategy: 'interrupt' }), stores[index % 2 === 0 ? 0 : 1]),
      ),
    );
    const rows = await line('several');
    expect(rows.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: 13 }, (_, index) => index + 1));
    const { overtaken } = await sessions[0].advance([outcomes[0]!.taskKey]);
    const winner = (rows.at(-1) as Row).task_key;
    expect(new Set(overtaken.map(({ taskKey }) => taskKey))).toEqual(
      new Set(rows.map(({ task_key }) => task_key).filter((key) => key !== winner)),
    );
    expect(new Set(overtaken.map(({ by }) => by.taskId))).toEqual(new Set([winner]));
    expect(first.turn).toBe('now');
  });
});

describe('what a session remembers', () => {
  const claimOf = async (taskKey: TaskKey, runNo = 1) => {
    const job = { taskKey, runNo, tenant: 'acme', pool: 'scripted', priority: 5, delayMs: 0 };
    const [claim] = await runs.claim([{ job, eventId: newEventId() }], { id: 'rt', leaseMs: runNo === 1 ? 0 : 30_000 });
    return claim?.conversation;
  };
  const end = (taskKey: TaskKey, runNo: number, conversation: string) =>
    log.append([
      { taskKey, guard: { kind: 'run', runNo, runPos: 0 }, events: [succeeded()], session: { conversation } },
    ]);
  const next = async (change: Partial<Submission> = {}): Promise<TaskKey> =>
    (await submitted(inSession('memory', change))).taskKey;

  it('is what its last task that ended well left, whoever runs the next', async () => {
    const first = await next();
    expect(await claimOf(first)).toBeNull();
    await end(first, 1, '{"n":1}');
    const failing = await next();
    expect(await claimOf(failing)).toBe('{"n":1}');
    const failed = draft({ type: 'task.failed', payload: { error: { code: 'internal', message: 'm' } } });
    await log.append([
      { taskKey: failing, guard: { kind: 'run', runNo: 1, runPos: 0 }, events: [failed], session: {} },
    ]);
    const third = await next();
    expect(await claimOf(third)).toBe('{"n":1}');
    await end(third, 1, '{"n":3}');
    for (const apart of [{ userId: 'carol' }, { tenant: 'other' }, { agentId: 'b' }, { principal: 'bob' }]) {
      const stranger = await next(apart);
      expect(await claimOf(stranger)).toBeNull();
      await end(stranger, 1, '{"n":"strange"}');
    }
    const last = await next();
    expect(await claimOf(last)).toBe('{"n":3}');
    await end(last, 1, '{}');
  });

  it('is not forked by a run that was lost and comes back', async () => {
    const taskKey = (await submitted(inSession('fork'))).taskKey;
    await claimOf(taskKey);
    await log.append([
      {
        taskKey,
        guard: { kind: 'control', from: ['running'], runOpen: true, runNo: 1, leaseExpired: true },
        events: [],
        dispatch: { runNo: 2, reason: 'lost', delayMs: 0 },
      },
    ]);
    expect(await claimOf(taskKey, 2)).toBeNull();
    expect(await end(taskKey, 1, '"of the lost run"')).toEqual([]);
    expect(await end(taskKey, 2, '"of the new run"')).toHaveLength(1);
    expect(await end(taskKey, 1, '"of the lost run"')).toEqual([]);
    const after = (await submitted(inSession('fork'))).taskKey;
    expect(await claimOf(after)).toBe('"of the new run"');
    await end(after, 1, '""');
  });

  it('is not kept for a task without a session', async () => {
    const { taskKey } = await submitted(createSubmission(backendId));
    expect(await claimOf(taskKey)).toBeNull();
    await end(taskKey, 1, '{}');
    const text = 'select count(*)::int as count from session_conversations where session_id is null';
    expect(await databases[0].query({ name: '', text }, [])).toEqual([{ count: 0 }]);
  });
});
