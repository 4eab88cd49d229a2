import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { EventStream } from '../support/event-stream.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import { RedisServer } from '../support/redis-server.js';
import type { ScriptStep } from '../support/scripted/index.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

const SLOTS = 50;
const QUEUED = 500;

let test: TestDatabase;
let sql: pg.Client;
let dir: string;
let redis: RedisServer;
let installation: Installation;

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'switchyard-gate-'));
  [test, redis] = await Promise.all([createDatabase(), RedisServer.start()]);
  sql = new pg.Client({ connectionString: test.url, options: '-c search_path=switchyard' });
  await sql.connect();
  installation = await Installation.start({
    databaseUrl: test.url,
    redisUrl: redis.url,
    gateways: 1,
    runtimes: 1,
    env: { LEASE_SECONDS: '10', RUN_SLOTS: String(SLOTS) },
  });
}, 180_000);

afterAll(async () => {
  await installation?.stop();
  await redis?.remove();
  await sql?.end();
  await test?.drop();
  rmSync(dir, { recursive: true, force: true });
}, 60_000);

async function submit(script: readonly ScriptStep[]): Promise<string> {
  const body = { agent_id: 'scripted', input: { script } };
  const answer = await call(`${installation.gateways[0]!.url}/v1/tasks`, { body });
  expect(answer.status).toBe(202);
  return String(answer.body['task_id']);
}

async function count(text: string): Promise<number> {
  return Number((await sql.query<{ count: string }>(`select count(*) from ${text}`)).rows[0]?.count);
}

const over = (timeoutMs: number): Promise<boolean> =>
  until(async () => (await count('tasks where finished_at is null')) === 0, { timeoutMs, what: 'every task to end' });

describe('a Redis that was away from idle runtimes', () => {
  it.each([5, 30, 300])(
    'for %i s has them at work again within 5 s of its return',
    async (seconds) => {
      await redis.kill();
      await delay(seconds * 1_000);
      await redis.start();
      const backMs = Date.now();
      const taskId = await submit([{ result: 'done' }]);
      await over(30_000);
      const started = await sql.query<{ at: Date }>(
        `select at from events join tasks using (task_key) where task_id = $1 and event_type = 'task.started'`,
        [taskId],
      );
      expect(started.rows[0]!.at.getTime() - backMs).toBeLessThan(5_000);
    },
    400_000,
  );
});

describe('a Redis emptied amid queued and running tasks', () => {
  it(`costs none of ${QUEUED} and ${SLOTS}, and none runs twice`, async () => {
    const gate = path.join(dir, 'emptied');
    const script: ScriptStep[] = [{ until_file: gate }, { result: 'done' }];
    const ids = await Promise.all(Array.from({ length: QUEUED + SLOTS }, () => submit(script)));
    await until(async () => (await count('task_heads where run_open')) === SLOTS, { timeoutMs: 30_000 });
    expect(await count(`task_heads where state = 'queued'`)).toBe(QUEUED);
    await redis.run((client) => client.flushall());
    writeFileSync(gate, '');
    await over(120_000);
    const { rows } = await sql.query(
      `select state, run_no, count(*)::int from task_heads join tasks using (task_key)
       where task_id = any ($1) group by state, run_no`,
      [ids],
    );
    expect(rows).toEqual([{ state: 'succeeded', run_no: 1, count: QUEUED + SLOTS }]);
  }, 180_000);
});

describe('an event loop blocked for a minute', () => {
  it('is shown as blocked, keeps its run, and nobody else starts it', async () => {
    const step = (id: string): ScriptStep[] => [
      { event: { type: 'step.started', payload: { step_id: id, step_name: 'Work' } } },
      { event: { type: 'step.completed', payload: { step_id: id } } },
    ];
    const taskId = await submit([
      ...step('a'),
      { wait_ms: 500 },
      { block_ms: 60_000 },
      ...step('b'),
      { wait_ms: 1_000 },
      { result: 'x' },
    ]);
    await installation.addRuntime();
    await over(120_000);
    const { rows } = await sql.query<{ event_type: string }>(
      'select event_type from events join tasks using (task_key) where task_id = $1 order by seq',
      [taskId],
    );
    const log = rows.map((row) => row.event_type).filter((type) => type.startsWith('task.'));
    expect(log).toEqual(['task.created', 'task.started', 'task.stalled', 'task.recovered', 'task.succeeded']);
  }, 180_000);
});

describe('a proxy that cuts what is idle for 60 s', () => {
  it('does not cut a stream that has nothing to tell for five minutes; its first byte is there at once', async () => {
    const gate = path.join(dir, 'silent');
    const taskId = await submit([{ until_file: gate }, { result: 'done' }]);
    const url = new URL(installation.gateways[0]!.url);
    const proxy = await TcpProxy.start(Number(url.port), { idleMs: 60_000 });
    url.port = String(proxy.port);
    url.pathname = `/v1/tasks/${taskId}/events`;
    const openedMs = performance.now();
    let firstMs: number | undefined;
    const seen: string[] = [];
    const stream = await EventStream.open(url.href, { key: ADMIN_KEY });
    const read = (async () => {
      for await (const { event } of stream) {
        firstMs ??= performance.now() - openedMs;
        seen.push(event);
      }
    })();
    await delay(300_000);
    expect(firstMs).toBeLessThan(2_000);
    writeFileSync(gate, '');
    await read;
    expect(seen.filter((type) => type !== 'heartbeat').at(-1)).toBe('task.succeeded');
    await proxy.close();
  }, 400_000);
});
