import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { TaskKey } from '#lib/domain';
import { newTaskKey } from '#lib/platform';
import pg from 'pg';
import { createNews } from '../../../test/support/bus.conformance.js';
import { createDatabase, type TestDatabase } from '../../../test/support/database.js';
import { createRunJob } from '../../../test/support/queue.conformance.js';
import { SilentLogger } from '../../../test/support/silent-logger.js';
import { until } from '../../../test/support/until.js';
import { createMessaging, type Messaging, migrateQueue } from './index.js';

describe('messaging over PostgreSQL alone', () => {
  let database: TestDatabase;
  let client: pg.Client;
  let messaging: Messaging | undefined;
  const open = async (): Promise<Messaging> =>
    (messaging = await createMessaging({
      databaseUrl: database.url,
      installation: 'faults',
      logger: new SilentLogger(),
    }));
  const countConnections = async (): Promise<number> => {
    const sql = `select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
    return (await client.query<{ n: number }>(sql)).rows[0]?.n ?? 0;
  };
  const terminateAll = async (): Promise<void> => {
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    );
  };

  beforeEach(async () => {
    database = await createDatabase({ empty: true });
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await migrateQueue(database.url);
  });
  afterEach(async () => {
    await messaging?.close();
    messaging = undefined;
    await client.end();
    await database.drop();
  });

  it('goes on when every connection is terminated', async () => {
    const { queue, bus } = await open();
    const { pool } = createRunJob();
    const handled: TaskKey[] = [];
    await queue.consume({ pool, slots: 2 }, async (job) => void handled.push(job.taskKey));
    const [task, seen]: [TaskKey, number[]] = [newTaskKey(), []];
    await bus.subscribe(task, (message) => void seen.push('live' in message ? 0 : message.toSeq));
    await bus.publish([createNews(task, 1)]);
    let reconnects = 0;
    bus.onReconnect(() => (reconnects += 1));

    await terminateAll();
    await until(() => reconnects === 1);
    await bus.publish([createNews(task, 2)]);
    await until(() => seen.includes(2));
    await expect(bus.ping()).resolves.toBeUndefined();

    const job = createRunJob({ pool });
    await until(() => queue.add([job]).then(() => true));
    await until(() => handled.length > 0);
    expect(handled).toEqual([job.taskKey]);
  }, 30_000);

  it('wakes an idle consumer of another process without waiting for its next poll', async () => {
    const { queue } = await open();
    const other = await createMessaging({
      databaseUrl: database.url,
      installation: 'faults',
      logger: new SilentLogger(),
    });
    const { pool } = createRunJob();
    let handled = 0;
    await queue.consume({ pool, slots: 1 }, async () => void (handled += 1));
    await until(() =>
      client.query(`select 1 from pg_stat_activity where query ilike 'listen%'`).then((r) => r.rowCount),
    );
    const startedMs = performance.now();
    await other.queue.add([createRunJob({ pool })]);
    await until(() => handled === 1, { intervalMs: 1 });
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    await other.close();
  });

  it('holds three connections for a queue that is consumed, and four for everything else', async () => {
    const { queue, bus } = await open();
    const { pool } = createRunJob();
    await queue.consume({ pool, slots: 64 }, async () => undefined);
    await queue.add(Array.from({ length: 200 }, () => createRunJob({ pool })));
    await bus.publish([createNews(newTaskKey(), 1)]);
    await until(async () => (await queue.depth(pool)) === 0);
    expect(await countConnections()).toBeLessThanOrEqual(3 + 4);
  });

  it('never lets a notification be longer than PostgreSQL allows', async () => {
    const { bus } = await open();
    const news = Array.from({ length: 1_000 }, () => createNews(newTaskKey(), 2_000_000_000));
    const seen = new Set<TaskKey>();
    for (const { taskKey } of news) await bus.subscribe(taskKey, () => seen.add(taskKey));
    await bus.publish(news);
    await until(() => seen.size === news.length);
    expect(seen.size).toBe(1_000);
  });

  it('refuses to start before the tables are there, and leaves no connection open', async () => {
    const empty = await createDatabase({ empty: true });
    await expect(
      createMessaging({ databaseUrl: empty.url, installation: 'faults', logger: new SilentLogger() }),
    ).rejects.toThrow('The database lacks the tables of the queue: run npm run migrate first.');
    await expect(empty.drop()).resolves.toBeUndefined();
  });

  it('migrates again and again, also at once', async () => {
    await expect(Promise.all([migrateQueue(database.url), migrateQueue(database.url)])).resolves.toHaveLength(2);
  });
});
