import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Append, EventBody, EventDraft, Submission, TaskId, TaskKey } from '#lib/domain';
import { newEventId, newTaskKey } from '#lib/platform';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { Database } from '../database.js';
import { PgAgentStore } from './pg-agent-store.js';
import { PgEventLog } from './pg-event-log.js';
import { PgRunStore } from './pg-run-store.js';
import { PgTaskStore } from './pg-task-store.js';

let test: TestDatabase;
let database: Database;
let other: Database;
let log: PgEventLog;
let runs: PgRunStore;
let tasks: PgTaskStore;
let backendId: string;

beforeAll(async () => {
  test = await createDatabase();
  database = new Database({ databaseUrl: test.url, max: 4, name: 'test' });
  other = new Database({ databaseUrl: test.url, max: 4, name: 'other' });
  log = new PgEventLog(database, database);
  runs = new PgRunStore(database);
  tasks = new PgTaskStore(database);
  const policy = {
    onLost: 'resume',
    maxRuns: 3,
    retries: { attempts: 3, firstDelaySeconds: 1, maxDelaySeconds: 30 },
    graceSeconds: 10,
    stallSeconds: 180,
    budgets: {},
    tools: ['of-backend'],
  } as const;
  backendId = (
    await new PgAgentStore(database).backendVersion({
      agentId: 'a',
      runner: 'scripted',
      pool: 'scripted',
      options: {},
      policy,
    })
  ).id;
});

afterAll(async () => {
  await database.close();
  await other.close();
  await test.drop();
});

function draft(body: EventBody): EventDraft {
  return { eventId: newEventId(), body, json: JSON.stringify(body.payload) };
}

function submission(change: Partial<Submission> = {}): Submission {
  const taskKey = newTaskKey();
  const deadlineAtMs = Date.now() + 3_600_000;
  return {
    taskKey,
    taskId: taskKey as string as TaskId,
    ownTaskId: false,
    bodyHash: Buffer.alloc(32, 1),
    tenant: 'acme',
    principal: 'alice',
    agentId: 'a',
    backendVersionId: backendId,
    runner: 'scripted',
    pool: 'scripted',
    detail: 'status',
    priority: 5,
    deadlineAtMs,
    input: '"hello"',
    context: '{}',
    created: draft({
      type: 'task.created',
      payload: {
        agent_id: 'a',
        backend: { runner: 'scripted', version: backendId },
        detail: 'status',
        priority: 5,
        deadline_at: new Date(deadlineAtMs).toISOString(),
        created_by: 'alice',
      },
    }),
    audit: {
      tenant: 'acme',
      principal: 'alice',
      keyId: 'k',
      action: 'task.submit',
      target: taskKey,
      outcome: 'allowed',
      details: '{}',
      requestId: 'r',
    },
    ...change,
  };
}

async function submitted(change: Partial<Submission> = {}): Promise<TaskKey> {
  const outcome = await tasks.submit(submission(change));
  if (outcome.kind !== 'created') throw new Error(outcome.kind);
  return outcome.taskKey;
}

const job = (taskKey: TaskKey, runNo = 1) => ({
  taskKey,
  runNo,
  tenant: 'acme',
  pool: 'scripted',
  priority: 5,
  delayMs: 0,
});
const claim = (taskKey: TaskKey, runNo = 1, store = runs) =>
  store.claim([{ job: job(taskKey, runNo), eventId: newEventId() }], { id: 'rt', leaseMs: 30_000 });
const LIMITS = { maxEvents: 500, maxBytes: 262_144 };

function runAppend(
  taskKey: TaskKey,
  runPos: number,
  events: readonly EventDraft[],
  more: Partial<Append> = {},
): Append {
  return { taskKey, guard: { kind: 'run', runNo: 1, runPos }, events, ...more };
}

const result = { text: 'done', metadata: { model: 'local' } };

describe('a task in Postgres', () => {
  it('goes from submit through claim and append to a log and rows that agree', async () => {
    const key = await submitted();
    const [claimed] = await claim(key);
    expect(claimed).toMatchObject({
      taskKey: key,
      runNo: 1,
      input: '"hello"',
      context: '{}',
      reason: 'submitted',
      steps: [],
    });
    expect(claimed?.event).toMatchObject({ seq: 2, type: 'task.started', payload: '{"run_no":1,"runtime_id":"rt"}' });

    const step = draft({ type: 'step.started', payload: { step_id: 's1', step_name: 'Look', attempt: 1 } });
    const done = draft({ type: 'step.completed', payload: { step_id: 's1' } });
    const end = draft({ type: 'task.succeeded', payload: { result } });
    expect(await log.append([runAppend(key, 0, [step])])).toEqual([
      expect.objectContaining({ taskKey: key, baseSeq: 2, stalled: false }),
    ]);
    await log.append([runAppend(key, 1, [done, end], { checkpoint: '{"a":1}' })]);

    const events = await log.page(key, 0, LIMITS);
    expect(events.map((event) => [event.seq, event.type])).toEqual([
      [1, 'task.created'],
      [2, 'task.started'],
      [3, 'step.started'],
      [4, 'step.completed'],
      [5, 'task.succeeded'],
    ]);
    const snapshot = await tasks.snapshot({ tenant: 'acme', principal: 'alice' }, key as string as TaskId);
    expect(snapshot).toMatchObject({
      state: 'succeeded',
      lastSeq: 5,
      runNo: 1,
      result,
      currentStep: null,
      runOpen: false,
    });
    expect((await tasks.steps(key, { limit: 10 })).items).toEqual([
      expect.objectContaining({ stepId: 's1', name: 'Look', state: 'completed', attempt: 1 }),
    ]);
  });

  it('brings every run the tools it was submitted with, else those of its backend', async () => {
    const clientTools = '[{"name":"look","description":"","parameters":{"n":1.0}}]';
    const [narrow, plain] = [await submitted({ clientTools, allowedTools: ['a'] }), await submitted()];
    const failed = { runNo: 2, reason: 'error', delayMs: 0, error: { code: 'unavailable', message: 'x' } } as const;
    expect((await claim(narrow))[0]).toMatchObject({ clientTools, allowedTools: ['a'] });
    await log.append([runAppend(narrow, 0, [], { dispatch: failed })]);
    expect((await claim(narrow, 2))[0]).toMatchObject({ clientTools, allowedTools: ['a'] });
    expect((await claim(plain))[0]).toMatchObject({ clientTools: null, allowedTools: ['of-backend'] });
  });

  it('is seen by those whose it is and by those who reach all of its tenant, and by nobody else', async () => {
    const taskKey = await submitted();
    const taskId = taskKey as string as TaskId;
    const alice = { tenant: 'acme', principal: 'alice' };
    const scopes = [alice, { tenant: 'acme' }, { tenant: 'acme', principal: 'bob' }, { tenant: 'other' }];
    const found = { taskKey, taskId, state: 'queued', lastSeq: 1 };
    const asked = [{ scope: alice, taskId: 'none' as TaskId }, ...scopes.map((scope) => ({ scope, taskId }))];
    expect(await tasks.seen(asked)).toEqual([undefined, found, found, undefined, undefined]);
    expect(await tasks.seen([])).toEqual([]);
  });

  it('brings every run the artifacts its input names', async () => {
    const artifact = {
      artifact_id: 'art_1',
      kind: 'input',
      name: 'a"\\é',
      media_type: 'text/plain',
      size: 5,
      sha256: 'ab',
    } as const;
    const key = await submitted({ inputArtifacts: [artifact] });
    expect((await claim(key))[0]?.inputArtifacts).toEqual([artifact]);
    expect((await claim(await submitted()))[0]?.inputArtifacts).toEqual([]);
  });

  it('leaves nothing to be queued when it ends before it was claimed', async () => {
    const [ended, open] = [await submitted(), await submitted()];
    const cancelled = draft({ type: 'task.cancelled', payload: { forced: false } });
    await log.append([{ taskKey: ended, guard: { kind: 'control', from: ['queued'] }, events: [cancelled] }]);
    const text = 'select task_key from outbox where task_key = any ($1::uuid[])';
    expect(await database.query({ name: '', text }, [[ended, open]])).toEqual([{ task_key: open }]);
  });

  it('is claimed by one of two runtimes, and the other gets nothing', async () => {
    const key = await submitted();
    const store = new PgRunStore(other);
    const claims = await Promise.all([claim(key), claim(key, 1, store)]);
    expect(claims.map((list) => list.length).sort()).toEqual([0, 1]);
  });

  it('refuses an append of an old run, of a wrong position and after the end', async () => {
    const key = await submitted();
    await claim(key);
    const tool = () => draft({ type: 'tool.invoked', payload: { tool_call_id: 'c', tool_name: 't' } });
    expect(await log.append([runAppend(key, 1, [tool()])])).toEqual([]);
    expect(await log.append([{ ...runAppend(key, 0, [tool()]), guard: { kind: 'run', runNo: 0, runPos: 0 } }])).toEqual(
      [],
    );
    await log.append([runAppend(key, 0, [draft({ type: 'task.succeeded', payload: { result } })])]);
    expect(await log.append([runAppend(key, 1, [tool()])])).toEqual([]);
    const cancel = draft({ type: 'task.cancelled', payload: { forced: false } });
    expect(
      await log.append([{ taskKey: key, guard: { kind: 'control', from: ['queued', 'running'] }, events: [cancel] }]),
    ).toEqual([]);
    expect((await log.page(key, 0, LIMITS)).map((event) => event.type)).toEqual([
      'task.created',
      'task.started',
      'task.succeeded',
    ]);
  });

  it('waits with its pending items shown, is resumed once, and the resumed run starts anew', async () => {
    const key = await submitted();
    const id = key as string as TaskId;
    await claim(key);
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const item = { tool_call_id: 'c1', kind: 'question', prompt: 'Sure?', digest: 'd', expires_at } as const;
    const waiting = draft({
      type: 'task.waiting_for_input',
      payload: { wait_id: 'w1', confirmations: [item], expires_at },
    });
    await log.append([runAppend(key, 0, [waiting], { checkpoint: '{"at":1}' })]);
    expect(await tasks.snapshot({ tenant: 'acme' }, id)).toMatchObject({
      state: 'waiting_for_input',
      waitId: 'w1',
      pendingConfirmations: [{ tool_call_id: 'c1', prompt: 'Sure?', state: 'pending' }],
    });
    const resume = (waitId: string): Append => ({
      taskKey: key,
      guard: { kind: 'control', from: ['waiting_for_input'], waitId },
      events: [draft({ type: 'task.resumed', payload: { wait_id: waitId, decided_by: 'bob', decisions: [] } })],
      dispatch: { runNo: 2, reason: 'resumed', delayMs: 0 },
    });
    expect(await log.append([resume('w0')])).toEqual([]);
    const answers = await Promise.all([log.append([resume('w1')]), log.append([resume('w1')])]);
    expect(answers.map((list) => list.length).sort()).toEqual([0, 1]);
    const [again] = await claim(key, 2);
    expect(again).toMatchObject({
      runNo: 2,
      reason: 'resumed',
      checkpoint: '{"at":1}',
      event: { type: 'task.started' },
    });
  });

  it('tells each run what was decided about the calls of the last pause, and a lost run’s successor too', async () => {
    const key = await submitted();
    await claim(key);
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const item = (tool_call_id: string, kind: 'tool_confirmation' | 'client_tool') =>
      ({ tool_call_id, kind, tool_name: 'send', digest: `d-${tool_call_id}`, expires_at }) as const;
    const pause = async (runNo: number, waitId: string, ids: readonly string[]): Promise<void> => {
      const confirmations = [...ids.map((id) => item(id, 'tool_confirmation')), item('t', 'client_tool')];
      const payload = { wait_id: waitId, confirmations, expires_at };
      const waiting = draft({ type: 'task.waiting_for_input', payload });
      await log.append([{ ...runAppend(key, 0, [waiting]), guard: { kind: 'run', runNo, runPos: 0 } }]);
      const decisions = [...ids.map((id) => ({ tool_call_id: id, approved: id !== 'b' })), { tool_call_id: 't' }];
      const resumed = draft({ type: 'task.resumed', payload: { wait_id: waitId, decided_by: 'bob', decisions } });
      await log.append([
        {
          taskKey: key,
          guard: { kind: 'control', from: ['waiting_for_input'], waitId },
          events: [resumed],
          dispatch: { runNo: runNo + 1, reason: 'resumed', delayMs: 0 },
        },
      ]);
    };
    const asked = (id: string, waitId = 'w1'): object => ({
      toolCallId: id,
      toolName: 'send',
      digest: `d-${id}`,
      decision: JSON.stringify({ tool_call_id: id, approved: id !== 'b' }),
      ...{ waitId, decidedBy: 'bob', usedBy: null },
    });
    await pause(1, 'w1', ['a', 'b']);
    const [second] = await claim(key, 2);
    expect(second?.asked).toEqual([asked('a'), asked('b')]);
    await log.append([
      {
        ...runAppend(key, 0, [], { checkpoint: '{}', dispatch: { runNo: 3, reason: 'handover', delayMs: 0 } }),
        guard: { kind: 'run', runNo: 2, runPos: 0 },
      },
    ]);
    const [third] = await claim(key, 3);
    expect(third).toMatchObject({ event: { type: 'task.retrying' }, asked: [asked('a'), asked('b')] });
    await pause(3, 'w2', ['c']);
    const [fourth] = await claim(key, 4);
    expect(fourth?.asked).toEqual([asked('c', 'w2')]);
  });

  it('tells the next run of a failed one why, and closes the steps it left open', async () => {
    const key = await submitted();
    await claim(key);
    const step = draft({ type: 'step.started', payload: { step_id: 's1', step_name: 'Look' } });
    await log.append([runAppend(key, 0, [step])]);
    const error = { code: 'unavailable', message: 'no answer' };
    await log.append([
      runAppend(key, 1, [], { dispatch: { runNo: 2, reason: 'error', delayMs: 0, attempt: 2, error } }),
    ]);
    expect(await claim(key, 1)).toEqual([]);
    const [again] = await claim(key, 2);
    expect(again).toMatchObject({
      attempt: 2,
      steps: [{ stepId: 's1', state: 'failed' }],
      event: { type: 'task.retrying' },
    });
    expect(JSON.parse(again?.event.payload ?? '')).toEqual({ run_no: 2, runtime_id: 'rt', reason: 'error', error });
    expect((await tasks.steps(key, { limit: 5 })).items).toMatchObject([{ state: 'failed', error: { code: 'lost' } }]);
  });

  it('that failed is found by the code it failed with, whatever its message holds', async () => {
    const [poison, other, well] = [await submitted(), await submitted(), await submitted()];
    const end = (taskKey: TaskKey, body: EventBody): Promise<unknown> =>
      log.append([{ taskKey, guard: { kind: 'control', from: ['queued'] }, events: [draft(body)] }]);
    const message = 'odd: \u0000 \ud83d "code":"timeout"';
    await end(poison, { type: 'task.failed', payload: { error: { code: 'poison', message } } });
    await end(other, { type: 'task.failed', payload: { error: { code: 'timeout', message: 'poison' } } });
    await end(well, { type: 'task.cancelled', payload: { forced: false } });
    const found = await tasks.list({ tenant: 'acme' }, { states: ['failed'], errorCode: 'poison' }, { limit: 50 });
    expect(found.items.map(({ taskKey, error }) => [taskKey, error])).toEqual([[poison, { code: 'poison', message }]]);
    expect((await tasks.list({ tenant: 'other' }, { errorCode: 'poison' }, { limit: 50 })).items).toEqual([]);
  });

  it('keeps a dense log while many writers and claimers fight', async () => {
    const keys = await Promise.all(Array.from({ length: 6 }, () => submitted()));
    const logs = [log, new PgEventLog(other, other)];
    const positions = new Map<TaskKey, number>();
    await Promise.all(keys.map((key) => claim(key)));
    const rounds = Array.from({ length: 60 }, (_, index) => index);
    let fenced = 0;
    await Promise.all(
      logs.map(async (each) => {
        for (const round of rounds) {
          const batch = keys
            .filter((_, index) => (index + round) % 2 === 0)
            .map((key) =>
              runAppend(key, positions.get(key) ?? 0, [
                draft({ type: 'tool.invoked', payload: { tool_call_id: `${round}`, tool_name: 't' } }),
              ]),
            );
          const appended = await each.append(batch);
          for (const { taskKey } of appended) positions.set(taskKey, (positions.get(taskKey) ?? 0) + 1);
          fenced += batch.length - appended.length;
        }
      }),
    );
    expect(fenced).toBeGreaterThan(0);
    for (const key of keys) {
      const seqs = (await log.page(key, 0, LIMITS)).map((event) => event.seq);
      expect(seqs).toEqual(seqs.map((_, index) => index + 1));
      expect(seqs.length).toBe((positions.get(key) ?? 0) + 2);
    }
  });
});

describe('submitting', () => {
  it('makes one task of fifty identical requests at two gateways', async () => {
    const second = new PgTaskStore(other);
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        (index % 2 === 0 ? tasks : second).submit(submission({ idempotencyKey: 'same' })),
      ),
    );
    expect(new Set(outcomes.map((outcome) => ('taskId' in outcome ? outcome.taskId : outcome.kind))).size).toBe(1);
    expect(outcomes.filter((outcome) => outcome.kind === 'created')).toHaveLength(1);
  });

  it('answers a conflict to another body under the same key, and to another principal', async () => {
    const taskId = 'order-1' as TaskId;
    await submitted({ taskId, ownTaskId: true });
    expect(await tasks.submit(submission({ taskId, ownTaskId: true, bodyHash: Buffer.alloc(32, 2) }))).toEqual({
      kind: 'conflict',
    });
    expect(await tasks.submit(submission({ taskId, ownTaskId: true, principal: 'bob' }))).toEqual({ kind: 'conflict' });
    expect(await tasks.submit(submission({ taskId, ownTaskId: true, tenant: 'other' }))).toMatchObject({
      kind: 'created',
    });
  });

  it('writes nothing when of two keys one names something else', async () => {
    const taskId = 'order-2' as TaskId;
    await submitted({ taskId, ownTaskId: true });
    const both = submission({ taskId, ownTaskId: true, idempotencyKey: 'k-2', bodyHash: Buffer.alloc(32, 3) });
    expect(await tasks.submit(both)).toEqual({ kind: 'conflict' });
    expect(await tasks.submit(submission({ idempotencyKey: 'k-2' }))).toMatchObject({ kind: 'created' });
  });
});

describe('the append-only tables', () => {
  it('refuse update, delete and truncate, to the owner as well', async () => {
    const key = await submitted();
    const attempts = [
      `update events set payload = '{}' where task_key = '${key}'`,
      `delete from events where task_key = '${key}'`,
      'delete from audit_records',
      'truncate audit_records',
    ];
    for (const text of attempts) {
      await expect(database.query({ name: '', text: `${text}` }, [])).rejects.toMatchObject({ code: '42501' });
      await expect(
        database.transaction(async (client) => {
          await client.query('reset role');
          await client.query(text);
        }),
      ).rejects.toMatchObject({ code: '42501' });
    }
    expect(await log.page(key, 0, LIMITS)).toHaveLength(1);
  });
});
