import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RunJob, TaskKey } from '#lib/domain';
import { newTaskKey } from '#lib/platform';
import { setTimeout as outage } from 'node:timers/promises';
import { createNews } from '../../../test/support/bus.conformance.js';
import { createRunJob } from '../../../test/support/queue.conformance.js';
import { testRedisUrl } from '../../../test/support/redis.js';
import { RedisServer } from '../../../test/support/redis-server.js';
import { SilentLogger } from '../../../test/support/silent-logger.js';
import { TcpProxy } from '../../../test/support/tcp-proxy.js';
import { until } from '../../../test/support/until.js';
import { createMessaging, type Messaging } from './index.js';

const NO_DATABASE = 'postgres://nobody@127.0.0.1:1/none';

(testRedisUrl() === undefined ? describe.skip : describe)('messaging over a Redis that fails', () => {
  let server: RedisServer;
  let messaging: Messaging;
  let proxy: TcpProxy | undefined;
  const logger = new SilentLogger();
  const open = async (redisUrl = server.url): Promise<Messaging> =>
    (messaging = await createMessaging({ databaseUrl: NO_DATABASE, redisUrl, installation: 'faults', logger }));
  const handled: TaskKey[] = [];
  const consume = async (pool: string): Promise<void> => {
    await messaging.queue.consume({ pool, slots: 2 }, async (job) => void handled.push(job.taskKey));
  };
  const addAtLast = (job: RunJob): Promise<boolean> => until(() => messaging.queue.add([job]).then(() => true));

  beforeEach(async () => {
    server = await RedisServer.start();
  });
  afterEach(async () => {
    handled.length = 0;
    server.thaw();
    await messaging.close();
    await proxy?.close();
    await server.remove();
  });

  it('takes jobs within 5 s of its return when it was away for 5 s while idle', async () => {
    await open();
    const job = createRunJob();
    await consume(job.pool);
    await server.kill();
    await outage(5_000);
    await server.start();
    const backMs = performance.now();
    await addAtLast(job);
    await until(() => handled.length === 1);
    expect(performance.now() - backMs).toBeLessThan(5_000);
  }, 30_000);

  it('refuses an add at once while it is away', async () => {
    await open();
    await server.kill();
    const startedMs = performance.now();
    await expect(messaging.queue.add([createRunJob()])).rejects.toMatchObject({ code: 'unavailable' });
    await expect(messaging.queue.depth('any')).rejects.toMatchObject({ code: 'unavailable' });
    expect(performance.now() - startedMs).toBeLessThan(500);
  });

  it('holds nobody up for long when it hangs, and works on when it goes on', async () => {
    await open();
    const job = createRunJob();
    const taskKey = newTaskKey();
    await consume(job.pool);
    let news = 0;
    await messaging.bus.subscribe(taskKey, () => (news += 1));
    server.freeze();
    const startedMs = performance.now();
    const added = messaging.queue.add([job]);
    await expect(messaging.bus.publish([createNews(taskKey, 1)])).resolves.toBeUndefined();
    await expect(added).rejects.toMatchObject({ code: 'unavailable' });
    expect(performance.now() - startedMs).toBeLessThan(1_500);
    server.thaw();
    await addAtLast(job);
    await until(() => handled.length >= 1);
    await until(async () => {
      await messaging.bus.publish([createNews(taskKey, 2)]);
      return news > 0;
    });
    expect(new Set(handled)).toEqual(new Set([job.taskKey]));
  });

  it('takes again what a FLUSHALL removed', async () => {
    await open();
    const { pool } = createRunJob();
    const jobs = [createRunJob({ pool }), createRunJob({ pool, delayMs: 50 }), createRunJob({ pool })];
    await messaging.queue.add(jobs);
    await server.run((redis) => redis.flushall());
    expect(await messaging.queue.depth(pool)).toBe(0);
    await messaging.queue.add(jobs);
    await consume(pool);
    await until(() => handled.length === 3);
    expect(new Set(handled)).toEqual(new Set(jobs.map((job) => job.taskKey)));
  });

  it('goes on after a FLUSHALL in the middle of jobs', async () => {
    await open();
    const { pool } = createRunJob();
    const finish: (() => void)[] = [];
    await messaging.queue.consume({ pool, slots: 2 }, () => new Promise((resolve) => finish.push(resolve)));
    await messaging.queue.add([createRunJob({ pool }), createRunJob({ pool })]);
    await until(() => finish.length === 2);
    await server.run((redis) => redis.flushall());
    for (const resolve of finish) resolve();
    await messaging.queue.add([createRunJob({ pool }), createRunJob({ pool })]);
    await until(() => finish.length === 4);
    expect(finish).toHaveLength(4);
  });

  it('tells of a reconnect once every subscription is in force again', async () => {
    await open();
    const tasks = Array.from({ length: 50 }, () => newTaskKey());
    const seen = new Set<TaskKey>();
    let reconnects = 0;
    for (const task of tasks) await messaging.bus.subscribe(task, () => seen.add(task));
    messaging.bus.onReconnect(() => (reconnects += 1));
    await server.kill();
    await server.start();
    await until(() => reconnects === 1);
    await until(() => messaging.bus.ping().then(() => true));
    await messaging.bus.publish(tasks.map((task) => createNews(task, 1)));
    await until(() => seen.size === tasks.length);
    expect(reconnects).toBe(1);
  });

  it('lets a stream open while it is away, and takes the subscription up later', async () => {
    await open();
    await until(() => messaging.bus.ping().then(() => true));
    const task = newTaskKey();
    let news = 0;
    let reconnects = 0;
    messaging.bus.onReconnect(() => (reconnects += 1));
    await messaging.bus.subscribe(newTaskKey(), () => undefined);
    await server.kill();
    await until(() =>
      messaging.bus.ping().then(
        () => false,
        () => true,
      ),
    );
    const startedMs = performance.now();
    await messaging.bus.subscribe(task, () => (news += 1));
    expect(performance.now() - startedMs).toBeLessThan(500);
    await server.start();
    await until(() => reconnects === 1);
    await until(async () => {
      await messaging.bus.publish([createNews(task, 1)]);
      return news > 0;
    });
    expect(news).toBeGreaterThan(0);
  });

  it('starts without it and joins it later', async () => {
    await server.kill();
    await open();
    const job = createRunJob();
    const task = newTaskKey();
    let news = 0;
    let reconnects = 0;
    messaging.bus.onReconnect(() => (reconnects += 1));
    await consume(job.pool);
    await messaging.bus.subscribe(task, () => (news += 1));
    await expect(messaging.bus.ping()).rejects.toThrow();
    await server.start();
    await addAtLast(job);
    await until(() => handled.length === 1);
    await until(async () => {
      await messaging.bus.publish([createNews(task, 1)]);
      return news > 0;
    });
    expect([handled, reconnects]).toEqual([[job.taskKey], 1]);
  });

  it('refuses one that evicts keys, at start and when it comes back as such', async () => {
    await server.kill();
    await server.start('--maxmemory-policy', 'allkeys-lru');
    await expect(open()).rejects.toThrow(
      "REDIS_URL: the server's maxmemory-policy is allkeys-lru; it must be noeviction, or queued jobs are lost.",
    );
    await server.kill();
    await server.start();
    await open();
    await expect(messaging.bus.ping()).resolves.toBeUndefined();
    await server.kill();
    await server.start('--maxmemory-policy', 'volatile-ttl');
    await until(() => messaging.bus.ping().catch((error: Error) => error.message.includes('volatile-ttl')));
    expect(logger.lines.some((line) => line.message.includes('volatile-ttl'))).toBe(true);
  });

  it('replaces a consumer whose connections died without a word', async () => {
    proxy = await TcpProxy.start(server.port);
    await open(`redis://127.0.0.1:${proxy.port}`);
    const job = createRunJob();
    await consume(job.pool);
    proxy.silence();
    await addAtLast(job);
    await until(() => handled.length === 1, { timeoutMs: 20_000 });
    expect(logger.lines.map((line) => line.message)).toContain('A silent queue consumer is replaced');
  }, 30_000);

  it('closes cleanly while it is away', async () => {
    await open();
    await consume(createRunJob().pool);
    await messaging.bus.subscribe(newTaskKey(), () => undefined);
    await server.kill();
    const startedMs = performance.now();
    await messaging.close();
    expect(performance.now() - startedMs).toBeLessThan(4_000);
  });
});
