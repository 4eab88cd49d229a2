import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation } from '../support/installation.js';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';

const TASKS = 200;
const REVIEW = 'The room was lovely and the staff were kind, but the shower was broken. '.repeat(2_000);
const REQUEST = 'A guest book with name, email and message; visitors can list and delete entries.';

let test: TestDatabase;
let sql: pg.Client;

beforeEach(async () => {
  test = await createDatabase();
  sql = new pg.Client({ connectionString: test.url });
  await sql.connect();
  await sql.query('set search_path to switchyard');
});

afterEach(async () => {
  await sql.end();
  await test.drop();
});

async function count(text: string): Promise<number> {
  return Number((await sql.query<{ count: string }>(`select count(*) from ${text}`)).rows[0]?.count);
}

describe('a runtime killed and a Redis emptied amid 200 tasks of both bundled agents', () => {
  it('lose nothing: every task ends once, every log is dense, rows equal events', async () => {
    const server = await RedisServer.start();
    const env = { RUN_SLOTS: '12', LEASE_SECONDS: '10', AGENTS_FILE: 'agents.yaml' };
    const installation = await Installation.start({
      databaseUrl: test.url,
      redisUrl: server.url,
      gateways: 2,
      runtimes: 2,
      env,
    });
    try {
      const submissions = await Promise.all(
        Array.from({ length: TASKS }, (_, index) =>
          call(`${installation.gateways[index % 2]?.url}/v1/tasks`, {
            body:
              index % 2 === 0
                ? { agent_id: 'text-analyst', input: REVIEW }
                : { agent_id: 'site-builder', input: REQUEST },
          }),
        ),
      );
      expect(submissions.map((answer) => answer.status)).toEqual(submissions.map(() => 202));

      await until(async () => (await count('task_heads where run_open')) >= 20, { timeoutMs: 20_000 });
      const openAtKill = await count('task_heads where run_open');
      await installation.runtimes[0]?.end('SIGKILL');
      const queuedAtFlush = await count(`task_heads where state = 'queued'`);
      await server.run((redis) => redis.flushall());
      // The case is void when the faults met an idle system.
      expect(openAtKill).toBeGreaterThanOrEqual(20);
      expect(queuedAtFlush).toBeGreaterThanOrEqual(50);

      const ended = async (): Promise<boolean> => (await count('tasks where finished_at is null')) === 0;
      await until(ended, { timeoutMs: 150_000, intervalMs: 250, what: 'every task to end' });
      const ends = await sql.query<{ state: string; count: string }>(
        'select state, count(*) from task_heads group by state',
      );
      expect(ends.rows).toEqual([{ state: 'succeeded', count: String(TASKS) }]);
      expect(await count(`events where event_type in ('task.succeeded', 'task.failed', 'task.cancelled')`)).toBe(TASKS);
      expect(await count(`events where event_type = 'task.retrying'`)).toBeGreaterThanOrEqual(1);
      expect(await count(`audit_records where action = 'task.submit'`)).toBe(TASKS);
      expect(await count('outbox')).toBe(0);
    } finally {
      await installation.stop();
      await server.remove();
    }
  }, 240_000);
});
