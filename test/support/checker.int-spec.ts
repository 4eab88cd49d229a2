import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { encodeEnvelope, type EventBody, type TaskId, type TaskKey } from '#lib/domain';
import { draftEvent } from '#lib/execution';
import { Database, PgEventLog, PgRunStore, PgTaskStore } from '#lib/persistence';
import { newEventId } from '#lib/platform';
import { assertClean, checkHistory, type Finding } from './checker.js';
import { createDatabase, type TestDatabase } from './database.js';
import { ClientHistory } from './history.js';
import type { Effect } from './scripted/index.js';
import { createBackend, createSubmission } from './submissions.js';

let test: TestDatabase;
let database: Database;
let sql: pg.Client;
let history: ClientHistory;
let taskId: string;
let taskKey: TaskKey;
let effects: Effect[];
let requests = 0;

async function open(): Promise<void> {
  test = await createDatabase();
  database = new Database({ databaseUrl: test.url, max: 2, name: 'test' });
  sql = new pg.Client({ connectionString: test.url, options: '-c search_path=switchyard' });
  await sql.connect();
}

beforeEach(async () => {
  await open();
  history = new ClientHistory();
  history.struck('SIGKILL of a runtime');
  effects = [];
  await play([invoked, done, succeeded]);
  effects.push({ taskId, runNo: 1, token: 'token-1' });
});

afterEach(async () => {
  await sql.end();
  await database.close();
  await test.drop();
});

/** A request that was acknowledged, and leaves its audit record where it is given a store to write it. */
function ask(action: 'task.submit' | 'task.cancel' | 'task.resume', target: string): string {
  const requestId = `request-${++requests}`;
  history.send(action, target, requestId).status = 202;
  return requestId;
}

async function record(action: string, target: string, requestId: string): Promise<void> {
  await sql.query(
    `insert into audit_records (id, tenant, principal, key_id, action, target, outcome, details, request_id)
     values (gen_random_uuid(), 'acme', 'alice', 'k', $1, $2, 'allowed', '{}', $3)`,
    [action, target, requestId],
  );
}

const invoked: EventBody = { type: 'tool.invoked', payload: { tool_call_id: 'token-1', tool_name: 'pay' } };
const done: EventBody = {
  type: 'tool.completed',
  payload: { tool_call_id: 'token-1', tool_name: 'pay' },
};
const succeeded: EventBody = {
  type: 'task.succeeded',
  payload: { result: { text: 'done', metadata: { model: 'local' } } },
};

/** A task from its submission to these events of its run, with a subscriber who has seen it all. */
async function play(events: readonly EventBody[], sessionId?: string): Promise<void> {
  const submission = createSubmission(await createBackend(test.url), { sessionId });
  ({ taskKey } = submission);
  taskId = submission.taskId;
  const requestId = ask('task.submit', taskId);
  await new PgTaskStore(database).submit({
    ...submission,
    audit: { ...submission.audit, target: taskId, requestId },
  });
  const runs = new PgRunStore(database);
  const job = { taskKey, runNo: 1, tenant: 'acme', pool: 'scripted', priority: 5, delayMs: 0 };
  await runs.claim([{ job, eventId: newEventId() }], { id: 'rt', leaseMs: 30_000 });
  const log = new PgEventLog(database, database);
  await log.append([{ taskKey, guard: { kind: 'run', runNo: 1, runPos: 0 }, events: events.map(draftEvent) }]);
  const stored = await log.page(taskKey, 0, { maxEvents: 500, maxBytes: 1 << 20 });
  const subscription = history.subscribe(taskId);
  for (const event of stored) {
    subscription.events.push({ seq: event.seq, data: encodeEnvelope(taskId as TaskId, event), atMs: 0 });
  }
  subscription.isComplete = true;
}

async function findings(): Promise<readonly Finding[]> {
  return (await checkHistory(test.url, history, effects)).findings;
}

describe('the checker', () => {
  it('finds nothing in a history that the database bears out, and tells how much it has looked at', async () => {
    expect(await findings()).toEqual([]);
    const { checked, faults } = await checkHistory(test.url, history, effects);
    expect(checked).toMatchObject({ requests: 1, subscriptions: 1, delivered: 5, effects: 1 });
    expect(faults).toEqual({ 'SIGKILL of a runtime': 1 });
  });

  it('(a) names a submit that was acknowledged and is not there', async () => {
    ask('task.submit', 'unheard-of');
    expect(await findings()).toContainEqual({ rule: 'a', what: 'unheard-of' });
  });

  it('(b) names a task without an end, with two, and with something after it', async () => {
    await play([invoked]);
    expect(await findings()).toEqual([{ rule: 'b', what: `${taskId} has 0 ends` }]);
    // The database refuses all of this by itself: where its index is gone, the checker has to see it.
    const add = (seq: number, type: string): Promise<unknown> =>
      sql.query(
        `insert into events (task_key, seq, event_id, event_type, at, payload)
         select task_key, $2, gen_random_uuid(), $3, at, '{}' from events where task_key = $1 and seq = 1`,
        [taskKey, seq, type],
      );
    await add(4, 'task.failed');
    await add(5, 'step.cancelled');
    expect(await findings()).toContainEqual({ rule: 'b', what: `${taskId} goes on after task.failed` });
    await sql.query('drop index events_one_end');
    await add(6, 'task.cancelled');
    expect(await findings()).toContainEqual({ rule: 'b', what: `${taskId} has 2 ends` });
    // The database goes all the same.
    await sql.end();
    await database.close();
    await expect(test.drop()).rejects.toThrow('cannot follow');
    await open();
  });

  it('(c) names a subscriber who missed an event, got one twice, or in other bytes, or was sent away early', async () => {
    const [whole] = history.subscriptions;
    const told = async (change: (events: { seq: number; data: string; atMs: number }[]) => void): Promise<string> => {
      const events = whole!.events.map((event) => ({ ...event }));
      change(events);
      history.subscriptions.splice(0, 1, { ...whole!, events });
      const [finding] = await findings();
      expect(finding?.rule).toBe('c');
      return finding!.what;
    };
    expect(await told((events) => events.splice(1, 1))).toBe(`a subscriber of ${taskId} saw 3 where 2 was due`);
    expect(await told((events) => events.splice(1, 0, events[0]!))).toContain('saw 1 where 2 was due');
    expect(await told((events) => (events[1]!.data += ' '))).toContain('saw 2 in other bytes than are stored');
    expect(await told((events) => events.pop())).toContain('was told of the end after 4 of 5');
  });

  it('(d) names a row that is not what its events say', async () => {
    await sql.query(`update tasks set current_step = 'elsewhere' where task_key = $1`, [taskKey]);
    const found = await findings();
    await sql.query('update tasks set current_step = null where task_key = $1', [taskKey]);
    expect(found).toMatchObject([{ rule: 'd' }]);
    expect(await findings()).toEqual([]);
  });

  it('(e) names a change without a record, one with two, and a record nobody asked for', async () => {
    const cancel = ask('task.cancel', taskId);
    expect(await findings()).toEqual([
      { rule: 'e', what: `task.cancel of ${taskId}: no record of an acknowledged change` },
    ]);
    await record('task.cancel', taskId, cancel);
    expect(await findings()).toEqual([]);
    await record('task.cancel', taskId, cancel);
    expect(await findings()).toEqual([
      { rule: 'e', what: `task.cancel of ${taskId}: one request has several records` },
    ]);
  });

  it('(e) names a record of a request that was never sent, and of a change nobody asked for', async () => {
    await record('task.resume', taskId, 'unheard-of');
    const nobody = { rule: 'e', what: `task.resume of ${taskId}: nobody asked for it` };
    expect(await findings()).toEqual([nobody]);
    await record('task.submit', taskId, 'never-sent');
    const never = { rule: 'e', what: `task.submit of ${taskId}: a record of a request that was never sent` };
    expect(await findings()).toEqual([never, nobody]);
    history.send('task.submit', taskId, 'never-sent');
    expect(await findings()).toEqual([
      { rule: 'e', what: `task.submit of ${taskId}: 2 records of one change` },
      nobody,
    ]);
  });

  it('(e) names an answer of two that has no record of its own, and records of answers that are not in the log', async () => {
    await record('task.resume', taskId, ask('task.resume', taskId));
    const second = ask('task.resume', taskId);
    expect(await findings()).toEqual([
      { rule: 'e', what: `task.resume of ${taskId}: no record of request ${second}` },
      { rule: 'e', what: `task.resume of ${taskId}: 1 records of 0 answers in the log` },
    ]);
  });

  it('(f) names a side effect that happened twice, and one the log does not know', async () => {
    effects.push({ taskId, runNo: 2, token: 'token-1' }, { taskId, runNo: 2, token: 'token-2' });
    expect(await findings()).toEqual([
      { rule: 'f', what: `token-1 of ${taskId} in run 1 and in run 2` },
      { rule: 'f', what: `token-2 of ${taskId} in run 2 is not in the log` },
    ]);
  });

  it('(g) names a task of a session that began before the one before it had ended', async () => {
    await play([invoked], 'turns');
    const first = taskId;
    await play([invoked, succeeded], 'turns');
    expect(await findings()).toContainEqual({ rule: 'g', what: `${taskId} began before ${first} had ended` });
  });

  it('calls a run void in which no fault has struck, or nobody has asked for anything', () => {
    const checked = { tasks: 1, events: 5, requests: 1, subscriptions: 1, delivered: 5, effects: 0 };
    const faults = { 'SIGKILL of a runtime': 1 };
    expect(() => assertClean({ findings: [], checked, faults })).not.toThrow();
    expect(() => assertClean({ findings: [], checked, faults: {} })).toThrow('void: no fault has struck anything');
    expect(() => assertClean({ findings: [], checked: { ...checked, requests: 0 }, faults })).toThrow('void: nobody');
    const findings: Finding[] = [{ rule: 'a', what: 't1' }];
    expect(() => assertClean({ findings, checked, faults })).toThrow('(a) what was acknowledged is there: t1');
  });
});
