import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventBody, EventDraft, Submission, TaskId, TaskKey } from '#lib/domain';
import { newArtifactId, newEventId } from '#lib/platform';
import type pg from 'pg';
import { ageTask, ownerClient } from '../../../../test/support/aged-task.js';
import { createDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { createBackend, createSubmission } from '../../../../test/support/submissions.js';
import { Database } from '../database.js';
import { PgEventLog } from './pg-event-log.js';
import { PgRetention } from './pg-retention.js';
import { PgTaskStore } from './pg-task-store.js';

const LIMITS = { maxEvents: 500, maxBytes: 262_144 };
const SHA = 'a'.repeat(64);
const artifactOf = (artifact_id: string): EventBody => ({
  type: 'artifact.created',
  payload: {
    artifact: { artifact_id, kind: 'produced', name: 'a.txt', media_type: 'text/plain', size: 1, sha256: SHA },
  },
});
const CANCELLED: EventBody = { type: 'task.cancelled', payload: { forced: false } };

let test: TestDatabase;
let database: Database;
let owner: pg.Client;
let tasks: PgTaskStore;
let log: PgEventLog;
let retention: PgRetention;
let backendId: string;

beforeAll(async () => {
  test = await createDatabase();
  database = new Database({ databaseUrl: test.url, max: 4, name: 'test' });
  owner = await ownerClient(test.url);
  tasks = new PgTaskStore(database);
  log = new PgEventLog(database, database);
  retention = new PgRetention(database);
  backendId = await createBackend(test.url);
});

afterEach(async () => {
  await owner.query(`delete from retention where tenant <> ''; update retention set days = 30`);
  await pruneAll();
});

afterAll(async () => {
  await owner?.end();
  await database?.close();
  await test?.drop();
});

const draft = (body: EventBody): EventDraft => ({
  eventId: newEventId(),
  body,
  json: JSON.stringify(body.payload),
});

async function submitted(change: Partial<Submission> = {}): Promise<Submission> {
  const submission = createSubmission(backendId, change);
  expect((await tasks.submit(submission)).kind).toBe('created');
  return submission;
}

async function cancel(taskKey: TaskKey, ...before: EventBody[]): Promise<void> {
  const guard = { kind: 'control', from: ['queued'] } as const;
  const appended = await log.append([{ taskKey, guard, events: [...before, CANCELLED].map(draft) }]);
  expect(appended).toHaveLength(1);
}

/** A task that ended so many days ago. `before`: events of its life. */
async function ended(days: number, change: Partial<Submission> = {}, ...before: EventBody[]): Promise<Submission> {
  const submission = await submitted(change);
  await cancel(submission.taskKey, ...before);
  return { ...submission, taskKey: (await ageTask(owner, submission.taskKey, days)) as TaskKey };
}

async function pruneAll(): Promise<number> {
  let sum = 0;
  for (let step = await retention.prune(500); step > 0; step = await retention.prune(500)) sum += step;
  return sum;
}

const stateOf = async ({ tenant, taskId }: Submission, principal?: string): Promise<unknown> =>
  tasks.snapshot({ tenant, principal }, taskId).then(
    (task) => task?.state ?? 'unknown',
    (error: { code: unknown }) => error.code,
  );
const eventsOf = async (taskKey: string): Promise<number> => (await log.page(taskKey as TaskKey, 0, LIMITS)).length;

async function count(text: string, ...values: unknown[]): Promise<number> {
  return (await owner.query<{ n: number }>(`select count(*)::int as n from ${text}`, values)).rows[0]!.n;
}

/** Tables that have rows of the task, submit keys aside. */
async function tablesWith(taskKey: string): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(`
    select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'switchyard'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and a.attname = 'task_key' and not a.attisdropped and c.relname <> 'submit_keys' order by c.relname`);
  const found: string[] = [];
  for (const { name } of rows) if ((await count(`${name} where task_key = $1`, taskKey)) > 0) found.push(name);
  return found;
}

const partitionOf = async (days: number): Promise<boolean> => {
  const { rows } = await owner.query<{ found: boolean }>(
    `select to_regclass('events_' || to_char((clock_timestamp() at time zone 'UTC')::date - $1::int, 'YYYYMMDD')) is not null as found`,
    [days],
  );
  return rows[0]!.found;
};

describe('the answers to tool calls made by token', () => {
  it('go soon after the end of their task, and stay while it goes on', async () => {
    const [over, open] = [await ended(0), await submitted()];
    for (const { taskKey } of [over, open])
      await owner.query(
        `insert into token_calls (task_key, tool_call_id, run_no, tool_name, digest, owner, held_until, answer)
        select $1, n::text, 1, 't', '', gen_random_uuid(), clock_timestamp(), '{}' from generate_series(1, 3) n`,
        [taskKey],
      );
    expect([await retention.forgetCalls(2), await retention.forgetCalls(2)]).toEqual([2, 1]);
    expect(await retention.forgetCalls(2)).toBe(0);
    expect(await tablesWith(over.taskKey)).not.toContain('token_calls');
    expect(await count('token_calls where task_key = $1', open.taskKey)).toBe(3);
    await cancel(open.taskKey);
  });
});

describe('a task that ended longer ago than it is kept', () => {
  it('is removed with everything that hangs on it, and answers that it is gone', async () => {
    const step: EventBody = { type: 'step.started', payload: { step_id: 's', step_name: 'S' } };
    const gone = await ended(32, { idempotencyKey: 'k-1', ownTaskId: true, taskId: 'mine' as TaskId, callbackUrl: 'https://a.example' }, step, artifactOf(newArtifactId())); // prettier-ignore
    await owner.query(`insert into workspaces values ($1, 'acme', $2, 1, 1, clock_timestamp())`, [gone.taskKey, 'b'.repeat(64)]); // prettier-ignore
    await owner.query(`insert into checkpoints (task_key, run_no, data, updated_at) values ($1, 1, '{}', clock_timestamp())`, [gone.taskKey]); // prettier-ignore
    await owner.query(`insert into outbox (task_key, run_no, pool, priority, reason, next_check_at) values ($1, 2, 'p', 5, 'lost', clock_timestamp() + interval '1 hour')`, [gone.taskKey]); // prettier-ignore
    await owner.query(`insert into confirmations (task_key, wait_id, tool_call_id, kind, digest, expires_at, state) values ($1, 'w', 'c', 'question', '', clock_timestamp(), 'closed')`, [gone.taskKey]); // prettier-ignore
    await owner.query(`insert into langgraph.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint) values ($1, '', 'c', '{}')`, [gone.taskKey]); // prettier-ignore
    await owner.query(`insert into langgraph.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type) values ($1, '', 'c', '1', 'x')`, [gone.taskKey]); // prettier-ignore
    await owner.query(`insert into langgraph.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, blob) values ($1, '', 'c', 't', 0, 'c', '')`, [gone.taskKey]); // prettier-ignore
    expect(await tablesWith(gone.taskKey)).toEqual([
      ...[
        'artifacts',
        'checkpoints',
        'confirmations',
        'events',
        'outbox',
        'steps',
        'task_heads',
        'tasks',
        'webhook_deliveries',
        'workspaces',
      ],
    ]);

    expect(await pruneAll()).toBeGreaterThan(0);

    expect(await tablesWith(gone.taskKey)).toEqual([]);
    for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes']) {
      expect(await count(`langgraph.${table} where thread_id = $1`, gone.taskKey)).toBe(0);
    }
    // The bytes follow by way of their marks.
    expect(await count(`blob_removals where sha256 in ($1, $2)`, SHA, 'b'.repeat(64))).toBe(2);
    expect([await stateOf(gone), await stateOf(gone, 'alice'), await stateOf(gone, 'bob')]).toEqual([
      'gone',
      'gone',
      'unknown',
    ]);
    expect(await tasks.find(gone)).toEqual({ kind: 'gone' });
    expect(await tasks.find({ ...gone, bodyHash: Buffer.alloc(32, 9) })).toEqual({ kind: 'conflict' });
    // The keys are still taken, whether or not the repeat looked first.
    const repeat = createSubmission(backendId, { idempotencyKey: 'k-1' });
    expect(await tasks.submit(repeat)).toEqual({ kind: 'gone' });
  });

  it('frees its keys thirty days later', async () => {
    const gone = await ended(31, { idempotencyKey: 'k-2', ownTaskId: true, taskId: 'again' as TaskId });
    await pruneAll();
    expect(await stateOf(gone)).toBe('gone');
    await owner.query(`update submit_keys set gone_until = gone_until - interval '29 days'`);
    await pruneAll();
    expect(await stateOf(gone)).toBe('gone');
    await owner.query(`update submit_keys set gone_until = gone_until - interval '1 day'`);
    await pruneAll();
    expect([await stateOf(gone), await tasks.find(gone)]).toEqual(['unknown', undefined]);
    const again = await submitted({ idempotencyKey: 'k-2', ownTaskId: true, taskId: 'again' as TaskId });
    expect(await stateOf(again)).toBe('queued');
  });

  it('is not yet one a day before, nor while it goes on, however old it is', async () => {
    const young = await ended(29);
    const open = await submitted();
    const old = { ...open, taskKey: (await ageTask(owner, open.taskKey, 40)) as TaskKey };
    await pruneAll();
    expect([await stateOf(young), await stateOf(old), await eventsOf(old.taskKey)]).toEqual(['cancelled', 'queued', 1]);
    // It ends now: from now on it is kept for thirty days.
    await cancel(old.taskKey);
    await pruneAll();
    expect([await stateOf(old), await eventsOf(old.taskKey)]).toEqual(['cancelled', 2]);
    // The check of projections rebuilds what is left, so it is whole.
  });

  it('stays while an unfinished task names one of its artifacts', async () => {
    const artifactId = newArtifactId();
    const named = await ended(33, {}, artifactOf(artifactId));
    const naming = await submitted();
    await owner.query('update tasks set input_artifacts = $2 where task_key = $1', [
      naming.taskKey,
      JSON.stringify([{ artifact_id: artifactId }]),
    ]);
    await pruneAll();
    expect(await stateOf(named)).toBe('cancelled');
    await cancel(naming.taskKey);
    await pruneAll();
    expect(await stateOf(named)).toBe('gone');
  });

  it('stays while its session has yet to go on from it', async () => {
    const first = await ended(33);
    await owner.query(`insert into session_advance values ($1, 'acme', 'a', 'alice', 's', clock_timestamp())`, [
      first.taskKey,
    ]);
    await pruneAll();
    expect(await stateOf(first)).toBe('cancelled');
    await owner.query('delete from session_advance');
    await pruneAll();
    expect(await stateOf(first)).toBe('gone');
  });

  it('takes its session along when it was the last of it', async () => {
    const inSession = (days: number, sessionId: string): Promise<Submission> => ended(days, { sessionId });
    await inSession(33, 'over');
    await inSession(33, 'goes on');
    await inSession(3, 'goes on');
    await inSession(33, 'in use');
    await owner.query(`delete from session_advance; update sessions set updated_at = updated_at - interval '33 days' where session_id <> 'in use'`); // prettier-ignore
    for (const id of ['over', 'goes on']) {
      await owner.query(`insert into session_conversations values ('acme', 'a', 'alice', $1, 1, '[]', clock_timestamp())`, [id]); // prettier-ignore
    }
    await pruneAll();
    const names = async (table: string): Promise<unknown> =>
      (await owner.query(`select session_id from ${table} order by session_id`)).rows.map((row) => row.session_id);
    expect([await names('sessions'), await names('session_conversations')]).toEqual([
      ['goes on', 'in use'],
      ['goes on'],
    ]);
  });

  it('goes by the days of its tenant, with its events where another keeps them longer', async () => {
    await owner.query(`insert into retention values ('short', 7), ('long', 60)`);
    const [short, usual, long] = await Promise.all(['short', 'acme', 'long'].map((tenant) => submitted({ tenant })));
    for (const { taskKey } of [short!, usual!, long!]) await cancel(taskKey);
    const keys: string[] = [];
    for (const { taskKey } of [short!, usual!, long!]) keys.push(await ageTask(owner, taskKey, 10));
    await pruneAll();
    expect(await Promise.all([short!, usual!, long!].map((task) => stateOf(task)))).toEqual(['gone', 'cancelled', 'cancelled']); // prettier-ignore
    expect(await Promise.all(keys.map(eventsOf))).toEqual([0, 2, 2]);
    expect(await partitionOf(10)).toBe(true);
  });

  it('is removed in bounded steps, once, whoever prunes', async () => {
    for (let n = 0; n < 5; n += 1) await ended(34);
    expect(await retention.prune(2)).toBe(2);
    const steps = await Promise.all(Array.from({ length: 6 }, () => retention.prune(3)));
    expect(steps.reduce((sum, step) => sum + step, 0)).toBeGreaterThanOrEqual(3);
    await pruneAll();
    expect(await count(`tasks where finished_at < clock_timestamp() - interval '30 days'`)).toBe(0);
  });
});

describe('a partition of events', () => {
  it('is dropped when no task is left in it and its day is past the longest time, not before', async () => {
    const gone = await ended(45);
    const open = await submitted();
    const openKey = await ageTask(owner, open.taskKey, 44);
    await owner.query(`insert into retention values ('long', 50)`);
    await pruneAll();
    // Another tenant keeps its tasks for 50 days: rows go, the partition stays.
    expect([await stateOf(gone), await eventsOf(gone.taskKey), await partitionOf(45)]).toEqual(['gone', 0, true]);
    await owner.query(`delete from retention where tenant = 'long'`);
    await pruneAll();
    expect([await partitionOf(45), await partitionOf(44), await partitionOf(0)]).toEqual([false, true, true]);
    expect(await eventsOf(openKey)).toBe(1);
    await cancel(openKey as TaskKey);
  });

  it('takes the events of those who keep theirs longest with it, which nobody can reach by then', async () => {
    const gone = await ended(35);
    expect(await retention.prune(1)).toBe(1);
    expect([await stateOf(gone), await tablesWith(gone.taskKey)]).toEqual(['gone', ['events']]);
    await pruneAll();
    expect([await tablesWith(gone.taskKey), await partitionOf(35)]).toEqual([[], false]);
  });

  it('is left alone while somebody reads the log for long', async () => {
    const gone = await ended(36);
    const reader = await ownerClient(test.url);
    await reader.query('begin');
    await reader.query('select count(*) from events');
    expect([await pruneAll(), await stateOf(gone), await partitionOf(36)]).toEqual([1, 'gone', true]);
    await reader.query('commit');
    await reader.end();
    await pruneAll();
    expect(await partitionOf(36)).toBe(false);
  });
});

describe('an upload', () => {
  it('goes when it is as old as a task may be after its end, unless an unfinished task names it', async () => {
    const [old, named, young] = [newArtifactId(), newArtifactId(), newArtifactId()];
    const days = { [old]: 31, [named]: 31, [young]: 29 };
    for (const [id, age] of Object.entries(days)) {
      await owner.query(
        `insert into artifacts (artifact_id, tenant, created_by, kind, name, media_type, size, sha256, created_at)
        values ($1, 'acme', 'alice', 'input', 'a', 'text/plain', 1, $2, clock_timestamp() - make_interval(days => $3))`,
        [id, SHA, age],
      );
    }
    const naming = await submitted();
    const text = JSON.stringify([{ artifact_id: named }]);
    await owner.query('update tasks set input_artifacts = $2 where task_key = $1', [naming.taskKey, text]);
    await pruneAll();
    const { rows } = await owner.query('select artifact_id from artifacts where task_key is null order by artifact_id');
    expect(rows).toEqual([{ artifact_id: named }, { artifact_id: young }]);
    await cancel(naming.taskKey);
  });
});

describe('the log', () => {
  it('gives up no event to anybody but prune(), not even to its owner', async () => {
    const { taskKey } = await submitted();
    const refused = { code: '42501' };
    await expect(owner.query('delete from events where task_key = $1', [taskKey])).rejects.toMatchObject(refused);
    await expect(owner.query('update events set seq = 2 where task_key = $1', [taskKey])).rejects.toMatchObject(
      refused,
    );
    const app = await ownerClient(test.url);
    await app.query('set role switchyard_app');
    await app.query(`select set_config('switchyard.pruning', 'on', false)`);
    for (const text of [
      'delete from events',
      'select prune_tasks(1)',
      'select prune_partition()',
      'select prune_leftovers(1)',
      `update retention set days = 1`,
      `insert into retention values ('acme', 1)`,
    ]) {
      await expect(app.query(text)).rejects.toMatchObject(refused);
    }
    await app.end();
    expect(await eventsOf(taskKey)).toBe(1);
  });
});
