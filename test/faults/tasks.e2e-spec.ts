import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { atFullSize } from '../support/full-size.js';
import { call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { testRedisUrl } from '../support/redis.js';
import type { ScriptStep } from '../support/scripted/index.js';
import { until } from '../support/until.js';

const DECISIONS = atFullSize(200, 20);

let test: TestDatabase;
let sql: pg.Client;
let installation: Installation;

beforeAll(async () => {
  test = await createDatabase();
  sql = new pg.Client({ connectionString: test.url, options: '-c search_path=switchyard' });
  await sql.connect();
  const env = { LEASE_SECONDS: '10', AGENTS_FILE: 'test/faults/agents.yaml' };
  installation = await Installation.start({ databaseUrl: test.url, redisUrl: testRedisUrl(), gateways: 2, runtimes: 1, env }); // prettier-ignore
}, 180_000);

afterAll(async () => {
  await installation?.stop();
  await sql?.end();
  await test?.drop();
}, 60_000);

const at = (gateway: number, path = ''): string => `${installation.gateways[gateway]!.url}/v1/tasks${path}`;

async function submit(agentId: string, input: unknown, more: object = {}): Promise<string> {
  const { status, body } = await call(at(0), { body: { agent_id: agentId, input, ...more } });
  expect(status).toBe(202);
  return String(body['task_id']);
}

const play = (script: readonly ScriptStep[], agentId = 'scripted'): Promise<string> => submit(agentId, { script });

async function snapshot(taskId: string): Promise<Record<string, unknown>> {
  return (await call(at(1, `/${taskId}`))).body;
}

async function stateIs(taskId: string, state: string): Promise<Record<string, unknown>> {
  const isThere = async (): Promise<Record<string, unknown> | undefined> => {
    const body = await snapshot(taskId);
    return body['state'] === state ? body : undefined;
  };
  return until(isThere, { timeoutMs: 30_000, what: `${taskId} to be ${state}` });
}

async function types(taskId: string): Promise<string[]> {
  const { rows } = await sql.query<{ event_type: string }>(
    'select event_type from events join tasks using (task_key) where task_id = $1 order by seq',
    [taskId],
  );
  return rows.map((row) => row.event_type);
}

async function outbox(taskId: string): Promise<number> {
  const rows = await sql.query('select from outbox join tasks using (task_key) where task_id = $1', [taskId]);
  return rows.rows.length;
}

/** Cancels at both gateways at once; nothing is left of the task but its end. */
async function expectCancelled(taskId: string): Promise<void> {
  const answers = await Promise.all([0, 1].map((gateway) => call(at(gateway, `/${taskId}/cancel`), { body: {} })));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 202]);
  for (const { body } of answers) expect(body).toMatchObject({ state: 'cancelled', error: null });
  expect((await call(at(0, `/${taskId}/cancel`), { body: {} })).status).toBe(200);
  expect(await outbox(taskId)).toBe(0);
  const log = await types(taskId);
  expect(log.slice(-2)).toEqual(['task.cancel_requested', 'task.cancelled']);
  expect(log.filter((type) => type.startsWith('task.cancel'))).toHaveLength(2);
}

describe('a cancel', () => {
  it('ends a task at once that is queued, and takes its run back', async () => {
    await expectCancelled(await submit('deserted', 'nobody comes'));
  });

  it('ends a task at once that waits for somebody, who is not waited for any more', async () => {
    const taskId = await play([{ pause: [{ tool_call_id: 'q', kind: 'question', prompt: 'Which?' }] }]);
    expect(await stateIs(taskId, 'waiting_for_input')).toMatchObject({ pending_confirms: [{ tool_call_id: 'q' }] });
    await expectCancelled(taskId);
    expect(await snapshot(taskId)).toMatchObject({ pending_confirms: [], wait_id: null });
  });

  it('ends a task at once that is between two attempts, and the next one is never made', async () => {
    const taskId = await play([{ throw: { kind: 'unavailable' } }], 'patient');
    const isBetween = async (): Promise<boolean> =>
      (await outbox(taskId)) === 1 && (await snapshot(taskId))['run_no'] === 1;
    await until(isBetween, { timeoutMs: 30_000 });
    expect(await snapshot(taskId)).toMatchObject({ state: 'running' });
    await expectCancelled(taskId);
  });
});

describe('answers', () => {
  const ASK: ScriptStep = { pause: [{ tool_call_id: 'q', kind: 'question', prompt: 'Which?' }] };

  async function answer(gateway: number, taskId: string, waitId: unknown, input: string): ReturnType<typeof call> {
    return call(at(gateway, `/${taskId}/resume`), { body: { wait_id: waitId, input } });
  }

  it(`given to one wait at both gateways at once, ${DECISIONS} times: one is taken, the other is told which, and nothing goes on twice`, async () => {
    const ids = await Promise.all(Array.from({ length: DECISIONS }, () => play([ASK, { result: 'answered' }])));
    const waits = await Promise.all(ids.map((taskId) => stateIs(taskId, 'waiting_for_input')));
    const told = await Promise.all(
      ids.map((taskId, task) =>
        Promise.all([0, 1].map((gateway) => answer(gateway, taskId, waits[task]!['wait_id'], `${gateway}`))),
      ),
    );
    for (const [task, both] of told.entries()) {
      expect(both.map(({ status }) => status).sort()).toEqual([202, 409]);
      const taken = both.findIndex(({ status }) => status === 202);
      const decision = {
        wait_id: waits[task]!['wait_id'],
        decided_by: 'admin',
        decisions: [{ tool_call_id: 'q', input: `${taken}` }],
      };
      expect(both[1 - taken]!.body).toMatchObject({ code: 'not_waiting', decision });
      expect(await stateIs(ids[task]!, 'succeeded')).toMatchObject({ run_no: 2 });
    }
  }, 60_000);

  it('that come too late change nothing: the task has failed, and says that nobody answered in time', async () => {
    const taskId = await play([ASK, { result: 'answered' }], 'hasty');
    const { wait_id: waitId } = await stateIs(taskId, 'waiting_for_input');
    const end = await stateIs(taskId, 'failed');
    expect(end).toMatchObject({ error: { code: 'confirmation_expired' }, pending_confirms: [] });
    const late = await answer(1, taskId, waitId, 'this');
    expect(late).toMatchObject({ status: 409, body: { code: 'not_waiting', decision: null } });
    expect((await types(taskId)).filter((type) => type === 'task.resumed')).toEqual([]);
  });
});

describe('a session', () => {
  it('goes on with its next task when the first one has died with its runtime', async () => {
    const script = [{ checkpoint: 1 }, { wait_ms: 60_000 }, { result: 'never' }];
    const first = await submit('fragile', { script }, { session_id: 'bereaved' });
    const next = await submit('fragile', { script: [{ result: 'next' }] }, { session_id: 'bereaved' });
    await stateIs(first, 'running');
    expect(await snapshot(next)).toMatchObject({ state: 'queued', blocked_by: first });
    await installation.runtimes.shift()!.end('SIGKILL');
    await installation.addRuntime();
    expect(await stateIs(first, 'failed')).toMatchObject({ error: { code: 'runtime_lost' } });
    expect(await stateIs(next, 'succeeded')).toMatchObject({ run_no: 1, blocked_by: null });
  }, 60_000);
});

describe('a key', () => {
  it('of one tenant means nothing to another', async () => {
    const keys = await createKeys(test.url, { other: { tenant: 'other' } });
    const body = { task_id: 'invoice-77', agent_id: 'scripted', input: 'mine' };
    const mine = await call(at(0), { body });
    const theirs = await call(at(1), { body: { ...body, input: 'theirs' }, key: keys.other });
    expect([mine.status, theirs.status]).toEqual([202, 202]);
    expect((await call(at(1), { body: { ...body, input: 'another' } })).body).toMatchObject({
      status: 409,
      code: 'idempotency_conflict',
    });
    await stateIs('invoice-77', 'succeeded');
    const { rows } = await sql.query(`select tenant, input from tasks where task_id = 'invoice-77' order by tenant`);
    expect(rows).toEqual([
      { tenant: 'default', input: '"mine"' },
      { tenant: 'other', input: '"theirs"' },
    ]);
  });
});

describe('a task that comes in while the only runtime stops', () => {
  it('is kept for the next one and runs once', async () => {
    const lasting = await play([{ checkpoint: 1 }, { run: 1, wait_ms: 60_000 }, { result: 'done' }]);
    await stateIs(lasting, 'running');
    const [leaving] = installation.runtimes.splice(0, 1);
    const ended = leaving!.end('SIGTERM');
    const late = await play([{ result: 'late' }]);
    expect(await ended).toBe(0);
    expect(await snapshot(late)).toMatchObject({ state: 'queued', run_no: 0 });
    await installation.addRuntime();
    expect(await stateIs(late, 'succeeded')).toMatchObject({ run_no: 1 });
    expect(await stateIs(lasting, 'succeeded')).toMatchObject({ run_no: 2 });
  }, 60_000);
});
