import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { draftEvent } from '#lib/execution';
import { Database, PgEventLog } from '#lib/persistence';
import type { TaskKey } from '#lib/domain';
import { createDatabase, type TestDatabase } from '../../../test/support/database.js';
import { EventStream } from '../../../test/support/event-stream.js';
import { ADMIN_KEY, call } from '../../../test/support/installation.js';
import { RedisServer } from '../../../test/support/redis-server.js';
import { testRedisUrl } from '../../../test/support/redis.js';
import { SilentLogger } from '../../../test/support/silent-logger.js';
import { TcpProxy } from '../../../test/support/tcp-proxy.js';
import { until } from '../../../test/support/until.js';
import { readConfig } from './config.js';
import { type RunningGateway, startGateway } from './gateway.js';

const ROOT = path.resolve(import.meta.dirname, '../../..');

let database: TestDatabase;
let direct: Database;
let dataDir: string;
let gateway: RunningGateway;

beforeEach(async () => {
  database = await createDatabase();
  direct = new Database({ databaseUrl: database.url, max: 1, name: 'direct' });
  dataDir = await mkdtemp(path.join(tmpdir(), 'gateway-'));
});

afterEach(async () => {
  await gateway?.stop();
  await direct.close();
  await rm(dataDir, { recursive: true, force: true });
  await database.drop();
});

async function start(databaseUrl: string, redisUrl?: string): Promise<void> {
  const config = readConfig({
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    PORT: '0',
    DATA_DIR: dataDir,
    ADMIN_API_KEY: ADMIN_KEY,
    AGENTS_FILE: path.join(ROOT, 'test/support/scripted/agents.yaml'),
    EXTRA_ADAPTERS: path.join(ROOT, 'test/support/scripted/index.ts'),
    DRAIN_SECONDS: '1',
  });
  gateway = await startGateway(config, new SilentLogger());
}

const submit = (taskId: string): ReturnType<typeof call> =>
  call(`${gateway.url}/v1/tasks`, { body: { agent_id: 'scripted', input: 'x', task_id: taskId } });

const openStream = (taskId: string): Promise<EventStream> =>
  EventStream.open(`${gateway.url}/v1/tasks/${taskId}/events`, { key: ADMIN_KEY });

/** Ends the task without telling anybody. */
async function cancelQuietly(taskId: string): Promise<void> {
  const text = 'select task_key from tasks where task_id = $1';
  const [row] = await direct.query<{ task_key: TaskKey }>({ name: '', text }, [taskId]);
  const cancelled = draftEvent({ type: 'task.cancelled', payload: { forced: false } });
  const guard = { kind: 'control', from: ['queued'] } as const;
  await new PgEventLog(direct, direct).append([{ taskKey: row!.task_key, guard, events: [cancelled] }]);
}

async function types(stream: EventStream): Promise<string[]> {
  const seen: string[] = [];
  for await (const { event } of stream) seen.push(event);
  return seen;
}

(testRedisUrl() === undefined ? describe.skip : describe)('without Redis', () => {
  let redis: RedisServer;
  beforeEach(async () => {
    redis = await RedisServer.start();
  });
  afterEach(() => redis.remove());

  it('submits answer at once, streams go on, cancels work, and the gateway says what is missing', async () => {
    await start(database.url, redis.url);
    await submit('before');
    const early = types(await openStream('before'));
    await redis.kill();
    const startedMs = performance.now();
    expect((await submit('during')).status).toBe(202);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    const late = types(await openStream('during'));
    expect((await call(`${gateway.url}/health/ready`)).body).toEqual({
      status: 'ready',
      degraded: ['bus'],
      notes: ['audit_unsigned'],
    });
    await cancelQuietly('before');
    expect((await call(`${gateway.url}/v1/tasks/during/cancel`, { body: {} })).status).toBe(202);
    expect(await early).toEqual(['task.created', 'task.cancelled']);
    expect(await late).toEqual(['task.created', 'task.cancel_requested', 'task.cancelled']);
  });

  it('a frozen one keeps nobody waiting either', async () => {
    await start(database.url, redis.url);
    redis.freeze();
    try {
      const startedMs = performance.now();
      expect((await submit('frozen')).status).toBe(202);
      const stream = types(await openStream('frozen'));
      expect(performance.now() - startedMs).toBeLessThan(3_000);
      await cancelQuietly('frozen');
      expect(await stream).toEqual(['task.created', 'task.cancelled']);
    } finally {
      redis.thaw();
    }
  });

  it('a gateway starts, and finds Redis when it comes', async () => {
    await redis.kill();
    await start(database.url, redis.url);
    expect((await submit('first')).status).toBe(202);
    await redis.start();
    await until(async () => (await call(`${gateway.url}/health/ready`)).body['degraded'] === undefined);
  });
});

describe('without PostgreSQL', () => {
  let proxy: TcpProxy;
  afterEach(() => proxy.close());

  it('requests are answered with 503 and a time to come back; open streams wait and go on', async () => {
    const target = new URL(database.url);
    proxy = await TcpProxy.start(Number(target.port));
    target.port = String(proxy.port);
    await start(target.href);
    await submit('before');
    const stream = await openStream('before');
    const seen = types(stream);
    proxy.cut();
    const answer = await submit('during');
    expect([answer.status, answer.body['code'], answer.headers.has('retry-after')]).toEqual([503, 'unavailable', true]);
    const ready = await call(`${gateway.url}/health/ready`);
    expect([ready.status, ready.body['missing']]).toEqual([503, ['postgres']]);
    await cancelQuietly('before');
    proxy.mend();
    expect(await seen).toEqual(['task.created', 'task.cancelled']);
    await until(async () => (await submit('after')).status === 202);
  });

  it('connections that fall silent are found out one by one and replaced, and news come again', async () => {
    const target = new URL(database.url);
    proxy = await TcpProxy.start(Number(target.port));
    target.port = String(proxy.port);
    await start(target.href);
    await submit('before');
    const seen = types(await openStream('before'));
    proxy.silence();
    const answer = await submit('during');
    expect([answer.status, answer.body['code']]).toEqual([503, 'unavailable']);
    await until(async () => (await submit('after')).status === 202, { timeoutMs: 50_000 });
    await cancelQuietly('before');
    expect(await seen).toEqual(['task.created', 'task.cancelled']);
  }, 90_000);
});
