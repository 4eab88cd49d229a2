import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation, type Member } from '../support/installation.js';
import { testRedisUrl } from '../support/redis.js';
import type { ScriptStep } from '../support/scripted/index.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

const LEASE_MS = 10_000;
const PROGRESS: readonly ScriptStep[] = [
  { event: { type: 'step.started', payload: { step_id: 's', step_name: 'Work' } } },
  { event: { type: 'step.completed', payload: { step_id: 's' } } },
  { checkpoint: {} },
];

interface LoggedEvent {
  readonly seq: number;
  readonly type: string;
  readonly at: Date;
  readonly payload: Record<string, unknown>;
}

let test: TestDatabase;
let sql: pg.Client;
let installation: Installation;

beforeAll(async () => {
  test = await createDatabase();
  sql = new pg.Client({ connectionString: test.url });
  await sql.connect();
  await sql.query('set search_path to switchyard');
  const env = { LEASE_SECONDS: String(LEASE_MS / 1_000) };
  installation = await Installation.start({ databaseUrl: test.url, redisUrl: testRedisUrl(), gateways: 1, runtimes: 0, env }); // prettier-ignore
}, 60_000);

afterEach(async () => {
  await Promise.all(installation.runtimes.splice(0).map((member) => member.end('SIGKILL')));
});

afterAll(async () => {
  await installation.stop();
  await sql.end();
  await test.drop();
}, 60_000);

async function submit(script: readonly ScriptStep[], more: Record<string, unknown> = {}): Promise<string> {
  const body = { agent_id: 'scripted', input: { script }, ...more };
  const answer = await call(`${installation.gateways[0]!.url}/v1/tasks`, { body });
  expect(answer.status).toBe(202);
  return String(answer.body['task_id']);
}

async function snapshot(taskId: string): Promise<Record<string, unknown>> {
  return (await call(`${installation.gateways[0]!.url}/v1/tasks/${taskId}`)).body;
}

async function ended(taskId: string, timeoutMs = 45_000): Promise<Record<string, unknown>> {
  const isOver = async (): Promise<Record<string, unknown> | undefined> => {
    const body = await snapshot(taskId);
    return body['finished_at'] === null ? undefined : body;
  };
  return until(isOver, { timeoutMs, what: `${taskId} to end` });
}

async function events(taskId: string): Promise<LoggedEvent[]> {
  const { rows } = await sql.query<{ seq: number; event_type: string; at: Date; payload: string }>(
    'select seq, event_type, at, payload from events join tasks using (task_key) where task_id = $1 order by seq',
    [taskId],
  );
  expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, index) => index + 1));
  return rows.map(({ seq, event_type, at, payload }) => ({ seq, type: event_type, at, payload: JSON.parse(payload) }));
}

async function types(taskId: string): Promise<string[]> {
  return (await events(taskId)).map(({ type }) => type);
}

async function emitted(taskId: string, type: string, timeoutMs = 30_000): Promise<LoggedEvent> {
  const find = async () => (await events(taskId)).find((event) => event.type === type);
  return until(find, { timeoutMs, what: `${type} of ${taskId}` });
}

describe('a runtime that is killed', () => {
  it('is followed by another within one and a half leases, which goes on from the checkpoint', async () => {
    const first = await installation.addRuntime();
    const taskId = await submit([...PROGRESS, { wait_ms: 60_000, run: 1 }, { result: 'done' }]);
    await emitted(taskId, 'step.completed');
    await installation.addRuntime();
    const killedAtMs = Date.now();
    await first.end('SIGKILL');
    const retrying = await emitted(taskId, 'task.retrying');
    expect(retrying.payload).toMatchObject({ run_no: 2, reason: 'lost' });
    expect(retrying.at.getTime() - killedAtMs).toBeLessThan(1.5 * LEASE_MS);
    expect(await ended(taskId)).toMatchObject({ state: 'succeeded', run_no: 2 });
    expect((await types(taskId)).filter((type) => type === 'step.started')).toHaveLength(1);
  }, 60_000);

  it('by the same task each time leaves that task as poison, and no other', async () => {
    await Promise.all([0, 1, 2, 3].map(() => installation.addRuntime()));
    const others = await Promise.all([0, 1, 2, 3].map(() => submit([{ wait_ms: 200 }, { result: 'fine' }])));
    const poison = await submit([{ crash: true }]);
    const end = await ended(poison, 60_000);
    expect(end).toMatchObject({ state: 'failed', run_no: 3, error: { code: 'poison' } });
    for (const taskId of others) expect(await ended(taskId)).toMatchObject({ state: 'succeeded' });
    const next = await submit([{ result: 'still here' }]);
    expect(await ended(next)).toMatchObject({ state: 'succeeded' });
  }, 120_000);
});

describe('a runtime whose event loop is blocked', () => {
  it('keeps its runs, is shown as blocked, and goes on', async () => {
    await installation.addRuntime();
    const taskId = await submit([...PROGRESS, { wait_ms: 500 }, { block_ms: 14_000 }, ...again(PROGRESS), { wait_ms: 200 }, { result: 'x' }]); // prettier-ignore
    const stalled = await emitted(taskId, 'task.stalled');
    expect(stalled.payload).toEqual({ reason: 'blocked' });
    expect(await snapshot(taskId)).toMatchObject({ state: 'running', stalled: true, run_no: 1 });
    await installation.addRuntime();
    expect(await ended(taskId)).toMatchObject({ state: 'succeeded', stalled: false, run_no: 1 });
    expect(await types(taskId)).toEqual(expect.arrayContaining(['task.stalled', 'task.recovered', 'task.succeeded']));
  }, 90_000);

  it('is ended when that lasts, and another takes over', async () => {
    const hung = await installation.addRuntime({ MAX_BLOCKED_SECONDS: '4' });
    const taskId = await submit([...PROGRESS, { wait_ms: 500 }, { block_ms: 600_000, run: 1 }, { result: 'x' }]);
    await emitted(taskId, 'step.completed');
    expect(await hung.exited).toBeNull();
    await installation.addRuntime();
    expect(await ended(taskId)).toMatchObject({ state: 'succeeded', run_no: 2 });
  }, 90_000);
});

describe('a runtime whose database is away', () => {
  async function throughProxy(): Promise<{ proxy: TcpProxy; member: Member }> {
    const url = new URL(test.url);
    const proxy = await TcpProxy.start(Number(url.port));
    url.port = String(proxy.port);
    return { proxy, member: await installation.addRuntime({ DATABASE_URL: url.href }) };
  }

  it('for a moment holds its events back and loses none', async () => {
    const { proxy } = await throughProxy();
    const steps = Array.from({ length: 30 }, (_, index): ScriptStep[] => [
      { event: { type: 'step.started', payload: { step_id: `s${index}`, step_name: 'Work' } } },
      { wait_ms: 100 },
      { event: { type: 'step.completed', payload: { step_id: `s${index}` } } },
    ]).flat();
    const taskId = await submit([...steps, { result: 'whole' }]);
    await emitted(taskId, 'step.completed');
    proxy.cut();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    proxy.mend();
    expect(await ended(taskId)).toMatchObject({ state: 'succeeded', run_no: 1 });
    expect((await types(taskId)).filter((type) => type === 'step.completed')).toHaveLength(30);
    await proxy.close();
  }, 60_000);

  it('for longer than its lease gives its runs up before another may have them', async () => {
    const { proxy, member } = await throughProxy();
    const taskId = await submit([...PROGRESS, { wait_ms: 120_000, run: 1 }, { result: 'x' }]);
    await emitted(taskId, 'step.completed');
    proxy.cut();
    await until(() => member.log.includes('given up'), { timeoutMs: 20_000 });
    const [open] = (await sql.query<{ lease_until: Date }>('select lease_until from task_heads where run_open')).rows;
    expect(Date.now()).toBeLessThan(open!.lease_until.getTime() + 500);
    await installation.addRuntime();
    expect(await ended(taskId)).toMatchObject({ state: 'succeeded', run_no: 2 });
    proxy.mend();
    await proxy.close();
  }, 90_000);
});

describe('a runner that fails', () => {
  it('without effects is tried again in a run that says why', async () => {
    await installation.addRuntime();
    const taskId = await submit([...PROGRESS, { throw: { kind: 'unavailable' }, run: 1 }, { result: 'x' }]);
    expect(await ended(taskId)).toMatchObject({ state: 'succeeded', run_no: 2 });
    const error = { code: 'backend_unavailable', message: 'The script failed: unavailable.' };
    expect((await emitted(taskId, 'task.retrying')).payload).toMatchObject({ run_no: 2, reason: 'error', error });
  });

  it('ends its task after the third attempt, or at once when it may have had effects', async () => {
    await installation.addRuntime();
    const [thrice, once] = await Promise.all([
      submit([{ throw: { kind: 'timeout' } }]),
      submit([{ throw: { kind: 'timeout', effects: 'possible' } }]),
    ]);
    expect(await ended(once)).toMatchObject({ state: 'failed', run_no: 1, error: { code: 'outcome_unknown' } });
    expect(await ended(thrice)).toMatchObject({ state: 'failed', run_no: 3, error: { code: 'timeout' } });
  });
});

describe('a task', () => {
  it('whose deadline passes fails in the phase it is in', async () => {
    const queued = await submit([{ result: 'never' }], { deadline_seconds: 1 });
    expect(await ended(queued)).toMatchObject({ state: 'failed', error: { code: 'deadline_exceeded' } });
    expect((await events(queued)).at(-1)!.payload).toMatchObject({ phase: 'queued' });
    await installation.addRuntime();
    const question = { tool_call_id: 'q', kind: 'question', prompt: 'Which?' } as const;
    const [running, waiting] = await Promise.all([
      submit([{ wait_ms: 60_000, stubborn: true }], { deadline_seconds: 2 }),
      submit([{ pause: [question] }], { deadline_seconds: 2 }),
    ]);
    await ended(running);
    await ended(waiting);
    expect((await events(running)).at(-1)!.payload).toMatchObject({ phase: 'running' });
    expect((await events(waiting)).at(-1)!.payload).toMatchObject({ phase: 'waiting' });
  });

  it('is never mixed with another, however many run at once on two runtimes', async () => {
    await Promise.all([installation.addRuntime(), installation.addRuntime()]);
    const names = Array.from({ length: 150 }, (_, index) => `task-${index}`);
    const ids = await Promise.all(
      names.map((name) =>
        submit([
          { repeat: 10, event: { type: 'step.started', payload: { step_id: `${name}-{i}`, step_name: name } } },
          { wait_ms: 20 },
          { repeat: 10, event: { type: 'step.completed', payload: { step_id: `${name}-{i}` } } },
          { artifact: { name: `${name}.txt`, text: name } },
          { result: name },
        ]),
      ),
    );
    for (const [index, taskId] of ids.entries()) {
      expect(await ended(taskId)).toMatchObject({ state: 'succeeded', run_no: 1, result: { text: names[index] } });
      const log = await events(taskId);
      expect(log).toHaveLength(25);
      const stepIds = log.flatMap(({ payload }) => (payload['step_id'] as string | undefined) ?? []);
      expect(stepIds.filter((id) => !id.startsWith(`${names[index]}-`))).toEqual([]);
    }
  }, 90_000);
});

/** The same progress under other ids, since a completed step never comes again. */
function again(steps: readonly ScriptStep[]): ScriptStep[] {
  return JSON.parse(JSON.stringify(steps).replaceAll('"s"', '"t"')) as ScriptStep[];
}
