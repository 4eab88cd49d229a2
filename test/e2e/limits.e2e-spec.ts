import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { describeEachBackingSet } from '../support/backing-sets.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { EventStream } from '../support/event-stream.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import { createKeys, type KeyWish } from '../support/keys.js';
import { until } from '../support/until.js';

jest.setTimeout(60_000);

type Answer = Awaited<ReturnType<typeof call>>;

const SECRET = 'k'.repeat(40);
/** A key per tenant of the limits file, named after what its tenant floods; the tenant `tasks` has two. */
const KEYS = ['requests', 'tasks', 'running', 'streams', 'waits', 'bytes', 'other'];
const keyOf = (id: string): string => `swy_${id}_${SECRET}`;

describeEachBackingSet(({ redisUrl }) => {
  let database: TestDatabase;
  let installation: Installation;
  let urls: readonly [string, string];
  let sql: pg.Client;

  beforeAll(async () => {
    database = await createDatabase();
    const wishOf = (id: string, tenant: string, principal: string): KeyWish => ({
      key: { id, secret: SECRET },
      tenant,
      principal,
    });
    const owners = KEYS.map((id) => [id, wishOf(id, id, 'ann')] as const);
    const more = { slowkey: wishOf('slowkey', 'other', 'bob'), tasky: wishOf('tasky', 'other', 'carl') };
    await createKeys(database.url, { ...Object.fromEntries(owners), ...more });
    const env = { LIMITS_FILE: path.join(import.meta.dirname, 'limits.yaml'), SYNC_WAIT_SECONDS: '1' };
    installation = await Installation.start({ databaseUrl: database.url, redisUrl, gateways: 2, runtimes: 0, env });
    urls = installation.gateways.map(({ url }) => url) as [string, string];
    sql = new pg.Client({ connectionString: database.url });
    await sql.connect();
  });

  afterAll(async () => {
    await sql?.end();
    await installation?.stop();
    await database?.drop();
  });

  /** The address of either gateway, in turn. */
  const either = (index: number): string => urls[index % 2]!;
  const times = <T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => work(index)));
  const submit = (key: string, body: object = {}, url = urls[0]): Promise<Answer> =>
    call(`${url}/v1/tasks`, { key: keyOf(key), body: { agent_id: 'scripted', input: 'x', ...body } });
  const byStatus = (answers: readonly { readonly status: number }[], status: number): number =>
    answers.filter((answer) => answer.status === status).length;
  /** Another tenant gets through, on both gateways, whatever the first one does. */
  const othersAreServed = async (): Promise<void> => {
    const answers = await times(6, (index) => submit('other', {}, either(index)));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(202));
  };
  const stored = async (tenant: string): Promise<number> => {
    const { rows } = await sql.query<{ n: number }>(
      'select count(*)::int as n from switchyard.tasks where tenant = $1',
      [tenant],
    );
    return rows[0]!.n;
  };

  describe('a tenant that floods', () => {
    it('with requests has its own quota over both gateways, is told so, and leaves the others served', async () => {
      const list = (index: number): Promise<Answer> => call(`${either(index)}/v1/tasks`, { key: keyOf('requests') });
      const [answers] = await Promise.all([times(300, list), othersAreServed()]);
      const passed = byStatus(answers, 200);
      expect(passed + byStatus(answers, 429)).toBe(300);
      // Each gateway alone gives the burst; what the other gave is owed from the next exchange on.
      expect(passed).toBeGreaterThanOrEqual(40);
      expect(passed).toBeLessThanOrEqual(2 * 40 + 5);
      const refused = answers.find(({ status }) => status === 429)!;
      expect(Object.fromEntries(refused.headers)).toMatchObject({
        'content-type': 'application/problem+json',
        'retry-after': expect.stringMatching(/^\d+$/),
        'ratelimit-policy': '"tenant-requests";q=40;w=80',
        ratelimit: expect.stringMatching(/^"tenant-requests";r=0;t=\d+$/),
      });
      expect(refused.body).toMatchObject({
        code: 'rate_limited',
        status: 429,
        'violated-policies': ['tenant-requests'],
      });
      // Within two exchanges either gateway knows of the other's and lets nothing more through.
      await until(async () => {
        const later = await times(4, list);
        return byStatus(later, 429) === 4;
      });
      const metrics = await Promise.all(
        urls.map(async (url) =>
          (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } })).text(),
        ),
      );
      for (const page of metrics)
        expect(page).toMatch(/^switchyard_limits_refused_total\{scope="tenant",limit="requests"\} [1-9]/m);
    });

    it('with one key stops that key, not the other keys of its tenant', async () => {
      const answers = await times(30, () => call(`${urls[0]}/v1/tasks`, { key: keyOf('slowkey') }));
      expect([byStatus(answers, 200), byStatus(answers, 429)]).toEqual([5, 25]);
      const told = answers.map(({ headers }) => headers.get('ratelimit'));
      expect(told.filter((text) => text?.startsWith('"key-requests";r=')).length).toBeGreaterThanOrEqual(27);
      await othersAreServed();
    });

    it('with tasks is refused at the limit; what was accepted is there, and no more than the other gateway adds', async () => {
      const [answers] = await Promise.all([
        times(200, (index) => submit('tasks', {}, either(index))),
        othersAreServed(),
      ]);
      const accepted = byStatus(answers, 202);
      expect(accepted + byStatus(answers, 429)).toBe(200);
      expect(await stored('tasks')).toBe(accepted);
      expect(accepted).toBeGreaterThanOrEqual(20);
      expect(accepted).toBeLessThanOrEqual(40);
      const refused = answers.find(({ status }) => status === 429)!;
      expect([refused.headers.get('ratelimit-policy'), refused.headers.get('ratelimit')]).toEqual([
        '"tenant-queued-tasks";q=20;qu="tasks"',
        '"tenant-queued-tasks";r=0',
      ]);
      expect(refused.headers.get('retry-after')).toBe('2');
    });

    it('with tasks is served again as soon as some have ended', async () => {
      const [{ task_id }] = (await call(`${urls[1]}/v1/tasks?limit=1`, { key: keyOf('tasks') })).body['tasks'] as [
        { task_id: string },
      ];
      const excess = (await stored('tasks')) - 20;
      const { rows } = await sql.query<{ task_id: string }>(
        `select task_id from switchyard.tasks where tenant = 'tasks' and task_id <> $1 limit $2`,
        [task_id, excess],
      );
      for (const row of [{ task_id }, ...rows])
        await call(`${urls[0]}/v1/tasks/${row.task_id}/cancel`, { key: keyOf('tasks'), body: {} });
      await until(async () => (await submit('tasks', { task_id: 'mine' }, urls[1])).status === 202);
      await until(async () => (await submit('tasks', {}, urls[0])).status === 429);
      expect(await stored('tasks')).toBeGreaterThan(20);
    });

    it('with repeats of one submission gets that task each time, beyond the limit too', async () => {
      const before = await stored('tasks');
      const repeats = await times(40, (index) => submit('tasks', { task_id: 'mine' }, either(index)));
      expect(repeats.map(({ status, body }) => [status, body['task_id']])).toEqual(Array(40).fill([202, 'mine']));
      expect([(await submit('tasks')).status, await stored('tasks')]).toEqual([429, before]);
    });

    it('with the tasks of one principal is refused by the limit of its key, over all of that principal', async () => {
      const answers: number[] = [];
      for (let index = 0; index < 5; index++) answers.push((await submit('tasky')).status);
      expect(answers).toEqual([202, 202, 202, 429, 429]);
      await othersAreServed();
    });

    it('with streams is refused before headers, and a stream that ends makes room', async () => {
      await submit('streams', { task_id: 'watched' });
      const open = (index: number): Promise<EventStream> =>
        EventStream.open(`${either(index)}/v1/tasks/watched/events`, { key: keyOf('streams') });
      const [streams] = await Promise.all([times(60, open), othersAreServed()]);
      const opened = streams.filter(({ status }) => status === 200);
      expect(opened.length).toBeGreaterThanOrEqual(10);
      expect(opened.length).toBeLessThanOrEqual(20);
      const [refused] = streams.filter(({ status }) => status === 429);
      expect(refused?.headers).toMatchObject({
        'content-type': 'application/problem+json',
        'ratelimit-policy': '"tenant-streams";q=10;qu="concurrent-requests"',
        ratelimit: '"tenant-streams";r=0',
      });
      // A submission that asks for its stream is refused before there is a task.
      const before = await stored('streams');
      const submitted = await EventStream.open(`${urls[0]}/v1/tasks`, {
        key: keyOf('streams'),
        body: { agent_id: 'scripted', input: 'x' },
      });
      expect([submitted.status, await stored('streams')]).toEqual([429, before]);
      for (const stream of [submitted, ...streams]) stream.close();
      await until(async () => {
        const again = await times(2, open);
        for (const stream of again) stream.close();
        return again.every(({ status }) => status === 200);
      });
    });

    it('by reconnecting again and again is limited in requests, and its streams leave nothing behind', async () => {
      for (let index = 0; index < 100; index++) {
        const stream = await EventStream.open(`${urls[0]}/v1/tasks/watched/events`, { key: keyOf('streams') });
        stream.close();
        if (stream.status === 429) await until(() => openStreams(urls[0]).then((open) => open < 10));
      }
      await until(() => openStreams(urls[0]).then((open) => open === 0));
      expect(await openStreams(urls[0])).toBe(0);
    });

    it('with long polls is refused at the limit, while submissions in sync mode go on without waiting', async () => {
      await submit('waits', { task_id: 'slow' });
      const poll = (index: number): Promise<Answer> =>
        index % 4 < 2
          ? call(`${either(index)}/v1/tasks/slow/wait?timeout_seconds=1`, { key: keyOf('waits') })
          : call(`${either(index)}/v1/tasks/slow/events?from_seq=1&wait_seconds=1`, {
              key: keyOf('waits'),
              headers: { accept: 'application/json' },
            });
      const polls = times(60, poll);
      await until(async () => (await poll(0)).status === 429);
      const sync = await call(`${urls[0]}/v1/tasks`, {
        key: keyOf('waits'),
        headers: { 'x-api-mode': 'sync' },
        body: { agent_id: 'scripted', input: 'x' },
      });
      expect(sync.status).toBe(202);
      await othersAreServed();
      const answers = await polls;
      expect(byStatus(answers, 200) + byStatus(answers, 429)).toBe(60);
      expect(byStatus(answers, 200)).toBeGreaterThanOrEqual(10);
      expect(byStatus(answers, 200)).toBeLessThanOrEqual(20);
      // All are over, so there is room again.
      await until(async () => (await poll(0)).status === 200);
    });

    it('with bytes is refused once they are stored, and its tasks with them', async () => {
      const upload = (size: number): Promise<Response> =>
        fetch(`${urls[0]}/v1/artifacts?name=x`, {
          method: 'POST',
          headers: { authorization: `Bearer ${keyOf('bytes')}` },
          body: Buffer.alloc(size, 7),
        });
      expect((await upload(60_000)).status).toBe(201);
      const refused = await upload(60_000);
      expect([refused.status, refused.headers.get('ratelimit')]).toEqual([429, '"tenant-artifact-bytes";r=40000']);
      const together = await times(4, () => upload(20_000));
      expect([byStatus(together, 201), byStatus(together, 429)]).toEqual([2, 2]);
      expect((await submit('bytes')).status).toBe(429);
      await othersAreServed();
    });
  });

  describe('a tenant with too many tasks at work', () => {
    it('submits no more until one has ended, and what it has queued is taken all the same', async () => {
      const work = { input: { script: [{ wait_ms: 60_000 }] } };
      const answers = await times(4, () => submit('running', work));
      expect(byStatus(answers, 202)).toBe(4);
      await installation.addRuntime();
      const atWork = async (): Promise<{ task_id: string }[]> =>
        (await call(`${urls[0]}/v1/tasks?state=running`, { key: keyOf('running') })).body['tasks'] as never;
      await until(async () => (await atWork()).length === 4);
      await until(async () => (await submit('running', work)).status === 429);
      const refused = await submit('running', work, urls[1]);
      expect([refused.status, refused.headers.get('ratelimit-policy')]).toEqual([
        429,
        '"tenant-running-tasks";q=2;qu="tasks"',
      ]);
      for (const { task_id } of await atWork())
        await call(`${urls[0]}/v1/tasks/${task_id}/cancel`, { key: keyOf('running'), body: {} });
      await until(async () => (await submit('running', work)).status === 202);
    });
  });

  async function openStreams(url: string): Promise<number> {
    const page = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } })).text();
    return Number(/^switchyard_streams_open (\d+)/m.exec(page)?.[1]);
  }
});
