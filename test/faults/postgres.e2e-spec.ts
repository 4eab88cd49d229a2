import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { assertClean, checkHistory } from '../support/checker.js';
import { EventStream } from '../support/event-stream.js';
import { ClientHistory } from '../support/history.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import { LoadClient } from '../support/load-client.js';
import { PostgresServer } from '../support/postgres-server.js';
import { testRedisUrl } from '../support/redis.js';
import { until } from '../support/until.js';

/** Enough for the product and three hundred others. */
const MAX_CONNECTIONS = 400;
const EVENT = { type: 'tool.completed', payload: { tool_call_id: 'c', tool_name: 'clock' } };

let dir: string;
let gate: string;
let postgres: PostgresServer;
let installation: Installation;
let history: ClientHistory;
let client: LoadClient;

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'switchyard-gate-'));
  postgres = await PostgresServer.start({ max_connections: String(MAX_CONNECTIONS) });
  installation = await Installation.start({
    databaseUrl: postgres.url,
    redisUrl: testRedisUrl(),
    gateways: 2,
    runtimes: 1,
  });
  history = new ClientHistory();
  client = new LoadClient(history, () => installation.gateways.map(({ url }) => url));
}, 180_000);

afterAll(async () => {
  client?.stop();
  await installation?.stop();
  await postgres?.remove();
  rmSync(dir, { recursive: true, force: true });
}, 60_000);

/** A task that tells the time until its gate is opened. */
async function submitClock(taskId: string): Promise<void> {
  gate = path.join(dir, taskId);
  const script = [{ until_file: gate, every_ms: 50, meanwhile: EVENT }, { result: 'done' }];
  await client.submit(taskId, { agent_id: 'scripted', input: { script } });
}

const submitAt = (gateway: number): ReturnType<typeof call> =>
  call(`${installation.gateways[gateway]!.url}/v1/tasks`, { body: { agent_id: 'scripted', input: 'now' } });

describe('a Postgres that crashes in mid stream', () => {
  it('is answered for with 503 while it is away; the stream stays open and goes on behind it without a hole', async () => {
    await submitClock('crash');
    const seen: number[] = [];
    const url = `${installation.gateways[0]!.url}/v1/tasks/crash/events`;
    const stream = await EventStream.open(url, { key: ADMIN_KEY });
    const read = (async () => {
      for await (const { id } of stream) if (id !== undefined) seen.push(Number(id));
    })();
    await until(() => seen.length >= 10);
    await postgres.stop('as a crash');
    try {
      const refused = await submitAt(0);
      expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable' } });
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      await delay(1_500);
    } finally {
      await postgres.start();
    }
    history.struck('crash of Postgres');
    const before = seen.length;
    await until(() => seen.length >= before + 10, { timeoutMs: 30_000, what: 'events after the crash' });
    expect(await until(async () => ((await submitAt(0)).status === 202 ? 202 : undefined))).toBe(202);
    writeFileSync(gate, '');
    await read;
    expect(seen).toEqual(seen.map((_, index) => index + 1));
    const { body } = await call(`${installation.gateways[1]!.url}/v1/tasks/crash`);
    expect(body).toMatchObject({ state: 'succeeded', last_seq: seen.length, run_no: 1 });
  }, 90_000);
});

describe('a Postgres whose connections others have taken', () => {
  it('keeps nobody waiting for ever: requests are served or answered with 503, and all is well when they leave', async () => {
    await submitClock('crowd');
    const crowd: pg.Client[] = [];
    const join = async (): Promise<boolean> => {
      const one = new pg.Client({ connectionString: postgres.url });
      one.on('error', () => undefined);
      const isIn = await one.connect().then(() => true, () => false); // prettier-ignore
      if (isIn) crowd.push(one);
      return isIn;
    };
    while (await join());
    expect(crowd.length).toBeGreaterThanOrEqual(300);
    history.struck('connections taken');
    const startedMs = performance.now();
    const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => submitAt(index % 2)));
    expect(performance.now() - startedMs).toBeLessThan(20_000);
    expect(answers.filter(({ status }) => status !== 202 && status !== 503)).toEqual([]);
    await Promise.all(crowd.map((one) => one.end()));
    writeFileSync(gate, '');
    await client.follow('crowd');
    await client.submit('after', { agent_id: 'scripted', input: 'after' });
    await client.follow('after');
  }, 90_000);
});

describe('the history of both', () => {
  it('is what the database says', async () => {
    const isOver = async (): Promise<boolean> => {
      const sql = new pg.Client({ connectionString: postgres.url, options: '-c search_path=switchyard' });
      await sql.connect();
      const { rows } = await sql.query('select from tasks where finished_at is null');
      await sql.end();
      return rows.length === 0;
    };
    await until(isOver, { timeoutMs: 60_000 });
    const verdict = await checkHistory(postgres.url, history);
    // Submits that did not go through the client are nobody's here.
    const own = verdict.findings.filter(({ what }) => !what.includes('nobody asked for it'));
    expect(() => assertClean({ ...verdict, findings: own })).not.toThrow();
    expect(own).toEqual([]);
  });
});
