import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { assertClean, checkHistory } from '../support/checker.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { EventStream } from '../support/event-stream.js';
import { atFullSize } from '../support/full-size.js';
import { ClientHistory } from '../support/history.js';
import { ADMIN_KEY, Installation } from '../support/installation.js';
import { LoadClient } from '../support/load-client.js';
import { RedisServer } from '../support/redis-server.js';
import { testRedisUrl } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

const TASKS = atFullSize(200, 60);
const RUNNING = 8;

const describeWithRedis = testRedisUrl() === undefined ? describe.skip : describe;

describeWithRedis('a Redis', () => {
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
    installation = await Installation.start({ databaseUrl: test.url, redisUrl: redis.url, gateways: 2, runtimes: 1 });
  }, 180_000);

  afterAll(async () => {
    await installation?.stop();
    await redis?.remove();
    await sql?.end();
    await test?.drop();
    rmSync(dir, { recursive: true, force: true });
  }, 180_000);

  it('that is away while tasks come in, and comes back with nothing, costs none: each runs once, also those of a gateway that died meanwhile', async () => {
    const history = new ClientHistory();
    const client = new LoadClient(history, () => installation.gateways.map(({ url }) => url));
    const gate = path.join(dir, 'open');
    const names = (what: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${what}-${at}`);
    const [running, late] = [names('running', RUNNING), names('late', TASKS)];
    const gated = { agent_id: 'scripted', input: { script: [{ until_file: gate }, { result: 'done' }] } };
    await Promise.all(running.map((taskId) => client.submit(taskId, gated)));
    const open = async (): Promise<number> => (await sql.query('select from task_heads where run_open')).rows.length;
    await until(async () => (await open()) === RUNNING);

    await redis.kill();
    await Promise.all(late.map((taskId) => client.submit(taskId, { agent_id: 'scripted', input: taskId })));
    const { rows } = await sql.query(`select from task_heads where state = 'queued' and run_no = 0`);
    expect(rows).toHaveLength(TASKS);
    history.struck('Redis away');
    await installation.gateways.shift()!.end('SIGKILL');
    history.struck('SIGKILL of a gateway before it could queue anything');
    await redis.start();
    writeFileSync(gate, '');
    await Promise.all([...running, ...late].map((taskId) => client.follow(taskId)));

    const runs = await sql.query('select state, run_no, count(*)::int from task_heads group by state, run_no');
    expect(runs.rows).toEqual([{ state: 'succeeded', run_no: 1, count: RUNNING + TASKS }]);
    expect((await sql.query('select from outbox')).rows).toEqual([]);
    assertClean(await checkHistory(test.url, history));
  }, 120_000);

  it('that is late brings nothing twice and leaves nothing out on streams opened while events are being written', async () => {
    const proxy = await TcpProxy.start(redis.port, { delayMs: 150 });
    const gateway = await installation.addGateway({ REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
    const client = new LoadClient(new ClientHistory(), () => installation.gateways.map(({ url }) => url));
    const gate = path.join(dir, 'late');
    const meanwhile = { type: 'tool.completed', payload: { tool_call_id: 'c', tool_name: 'clock' } };
    const script = [{ until_file: gate, every_ms: 10, meanwhile }, { result: 'done' }];
    await client.submit('clock', { agent_id: 'scripted', input: { script } });
    const readers: Promise<number[]>[] = [];
    const read = async (): Promise<number[]> => {
      const seen: number[] = [];
      const stream = await EventStream.open(`${gateway.url}/v1/tasks/clock/events`, { key: ADMIN_KEY });
      for await (const { id } of stream) if (id !== undefined) seen.push(Number(id));
      return seen;
    };
    for (let reader = 0; reader < 20; reader += 1) {
      readers.push(read());
      await delay(reader * 5);
    }
    writeFileSync(gate, '');
    const all = await Promise.all(readers);
    const [last] = (await sql.query(`select last_seq from task_heads join tasks using (task_key) where task_id = 'clock'`)).rows; // prettier-ignore
    expect(last.last_seq).toBeGreaterThan(20);
    for (const seen of all) expect(seen).toEqual(Array.from({ length: last.last_seq }, (_, index) => index + 1));
    await gateway.end('SIGTERM');
    installation.gateways.splice(installation.gateways.indexOf(gateway), 1);
    await proxy.close();
  }, 180_000);

  it('that evicts keys is refused by gateway and runtime alike, in a line that says why', async () => {
    const evicting = await RedisServer.start('--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru');
    try {
      const env = { REDIS_URL: evicting.url };
      const refused = [installation.addGateway(env), installation.addRuntime(env)];
      const why = /maxmemory-policy is allkeys-lru; it must be/;
      await Promise.all(refused.map((start) => expect(start).rejects.toThrow(why)));
    } finally {
      installation.gateways.pop();
      installation.runtimes.pop();
      await evicting.remove();
    }
  }, 180_000);
});
