import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventBody, TaskKey } from '#lib/domain';
import { draftEvent, EventWriter, RunCursor } from '#lib/execution';
import { createMessaging, type Messaging } from '#lib/messaging';
import { Database, installationName, PgEventLog, PgRunStore } from '#lib/persistence';
import { newEventId } from '#lib/platform';
import { describeEachBackingSet } from '../../../test/support/backing-sets.js';
import { createDatabase, type TestDatabase } from '../../../test/support/database.js';
import { EventStream } from '../../../test/support/event-stream.js';
import { ADMIN_KEY, call } from '../../../test/support/installation.js';
import { SilentLogger } from '../../../test/support/silent-logger.js';
import { until } from '../../../test/support/until.js';
import { readConfig } from './config.js';
import { type RunningGateway, startGateway } from './gateway.js';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const step = (n: number): EventBody => ({
  type: 'step.started',
  payload: { step_id: `s${n}`, step_name: `Step ${n}` },
});
const SUCCEEDED: EventBody = { type: 'task.succeeded', payload: { result: { text: 'done', metadata: {} } } };
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** Stands in for a runtime: claims by hand, and writes what the test says. */
class Runner {
  private constructor(
    private readonly database: Database,
    readonly log: PgEventLog,
    private readonly messaging: Messaging,
    private readonly writer: EventWriter,
  ) {}

  static async open(databaseUrl: string, redisUrl: string | undefined): Promise<Runner> {
    const logger = new SilentLogger();
    const database = new Database({ databaseUrl, max: 2, name: 'runner' });
    const log = new PgEventLog(database, database);
    const installation = await installationName(database);
    const messaging = await createMessaging({ databaseUrl, redisUrl, installation, logger });
    return new Runner(database, log, messaging, new EventWriter({ log, bus: messaging.bus, logger }));
  }

  query<Row extends object>(text: string, ...values: unknown[]): Promise<Row[]> {
    return this.database.query<Row>({ name: '', text }, values);
  }

  async keyOf(taskId: string): Promise<TaskKey> {
    const rows = await this.query<{ task_key: TaskKey }>('select task_key from tasks where task_id = $1', taskId);
    return rows[0]!.task_key;
  }

  /** Changes an agent as another process would, and says so. */
  async enable(agentId: string, enabled: boolean): Promise<void> {
    const text = `update agents set version = version + 1, declaration = (declaration::jsonb || $2::jsonb)::text where id = $1`;
    await this.query(text, agentId, JSON.stringify({ enabled }));
    await this.messaging.bus.signal('agents', 'changed');
  }

  /** Claims the first run; the events it is given are written one after the other. */
  async run(taskId: string): Promise<(...bodies: EventBody[]) => Promise<void>> {
    const taskKey = await this.keyOf(taskId);
    const job = { taskKey, runNo: 1, tenant: 'acme', pool: 'scripted', priority: 5, delayMs: 0 };
    const runs = new PgRunStore(this.database);
    const [claim] = await runs.claim([{ job, eventId: newEventId() }], { id: 'rt', leaseMs: 60_000 });
    const guard = new RunCursor(claim!.runNo);
    return async (...bodies) => {
      const outcome = await this.writer.append({
        taskKey,
        taskId: claim!.taskId,
        guard,
        events: bodies.map(draftEvent),
      });
      expect(outcome.kind).toBe('stored');
    };
  }

  listen(channel: string, listener: (message: string) => void): Promise<unknown> {
    return this.messaging.bus.listen(channel, listener);
  }

  async close(): Promise<void> {
    await this.writer.close();
    await this.messaging.close();
    await this.database.close();
  }
}

describeEachBackingSet(({ redisUrl }) => {
  let database: TestDatabase;
  let dataDir: string;
  const gateways: RunningGateway[] = [];
  let runner: Runner;

  beforeAll(async () => {
    database = await createDatabase();
    dataDir = await mkdtemp(path.join(tmpdir(), 'gateway-'));
    const config = readConfig({
      DATABASE_URL: database.url,
      REDIS_URL: redisUrl,
      PORT: '0',
      DATA_DIR: dataDir,
      ADMIN_API_KEY: ADMIN_KEY,
      AGENTS_FILE: path.join(ROOT, 'test/support/scripted/agents.yaml'),
      EXTRA_ADAPTERS: path.join(ROOT, 'test/support/scripted/index.ts'),
      DRAIN_SECONDS: '2',
    });
    await Promise.all([1, 2].map(async () => gateways.push(await startGateway(config, new SilentLogger()))));
    runner = await Runner.open(database.url, redisUrl);
  });

  afterAll(async () => {
    await runner?.close();
    await Promise.all(gateways.map((gateway) => gateway.stop()));
    await rm(dataDir, { recursive: true, force: true });
    await database?.drop();
  });

  const url = (place: string, gateway = 0): string => `${gateways[gateway]!.url}${place}`;

  async function submit(body: object = {}): Promise<string> {
    const answer = await call(url('/v1/tasks'), { body: { agent_id: 'scripted', input: 'x', ...body } });
    expect(answer.status).toBe(202);
    return answer.body['task_id'] as string;
  }

  const open = (taskId: string, { gateway = 0, query = '', lastEventId = '' } = {}): Promise<EventStream> =>
    EventStream.open(url(`/v1/tasks/${taskId}/events${query}`, gateway), {
      key: ADMIN_KEY,
      headers: lastEventId === '' ? {} : { 'last-event-id': lastEventId },
    });

  async function seqsOf(stream: EventStream): Promise<number[]> {
    const seqs: number[] = [];
    for await (const { id } of stream) if (id !== undefined) seqs.push(Number(id));
    return seqs;
  }

  describe('submitting', () => {
    it('makes one task of fifty equal requests at once to two gateways', async () => {
      const body = { agent_id: 'scripted', input: { n: 1 }, task_id: 'same' };
      const answers = await Promise.all(range(1, 50).map((n) => call(url('/v1/tasks', n % 2), { body })));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
      expect(new Set(answers.map(({ headers }) => headers.get('location')))).toEqual(
        new Set([`/v1/tasks/${body.task_id}`]),
      );
      expect(await runner.query('select task_id from tasks where task_id = $1', body.task_id)).toHaveLength(1);
      const other = await call(url('/v1/tasks'), { body: { ...body, input: { n: 2 } } });
      expect([other.status, other.body['code']]).toEqual([409, 'idempotency_conflict']);
    });

    it('knows a repeated Idempotency-Key whatever the order of the keys in the body', async () => {
      const headers = { 'idempotency-key': 'key-1' };
      const one = await call(url('/v1/tasks'), { headers, body: { agent_id: 'scripted', input: 'a' } });
      const two = await call(url('/v1/tasks', 1), { headers, body: { input: 'a', agent_id: 'scripted' } });
      expect(two.body).toEqual(one.body);
    });

    it.each([
      [{ agent_id: 'nobody' }, 'unknown_agent'],
      [{ agent_id: 'closed' }, 'agent_disabled'],
      [{ agent_id: undefined, type: 'closed' }, 'agent_disabled'],
      [{ agent_id: 'strict', input: { script: [] } }, 'no_route'],
      [{ agent_id: undefined, type: 'strict', input: 'text' }, 'unsupported_input'],
      [{ agent_id: undefined, type: 'strict', input: { script: 1 } }, 'unsupported_input'],
    ])('answers %j with %s', async (change, code) => {
      const answer = await call(url('/v1/tasks'), { body: { input: 'x', ...change } });
      expect([answer.status, answer.body['code']]).toEqual([422, code]);
    });

    it('still answers a repeat when the agent refuses such tasks by now', async () => {
      const body = { type: 'strict', input: { script: [] }, task_id: 'before' };
      const enable = async (enabled: boolean): Promise<void> => {
        await runner.enable('strict', enabled);
        await until(async () => (await call(url('/v1/agents/strict'))).body['enabled'] === enabled);
      };
      const first = await call(url('/v1/tasks'), { body });
      await enable(false);
      expect((await call(url('/v1/tasks'), { body: { ...body, task_id: 'after' } })).body['code']).toBe(
        'agent_disabled',
      );
      const again = await call(url('/v1/tasks'), { body });
      expect([again.status, again.body]).toEqual([202, first.body]);
      await enable(true);
    });

    it('queues the run under the priority of the task and keeps input and context as they were spelt', async () => {
      const text =
        '{"agent_id":"scripted","input":{"n":1.0, "toString":1},"context":{ "user_id":"u","x":1e2},"priority":9}';
      const response = await fetch(url('/v1/tasks'), {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
        body: text,
      });
      const { task_id } = (await response.json()) as { task_id: string };
      const key = await runner.keyOf(task_id);
      expect(
        await runner.query('select input, context, user_id, priority from tasks where task_key = $1', key),
      ).toEqual([{ input: '{"n":1.0, "toString":1}', context: '{ "user_id":"u","x":1e2}', user_id: 'u', priority: 9 }]);
    });
  });

  describe('a stream', () => {
    it('gives a subscriber that reconnects again and again every event exactly once', async () => {
      const taskId = await submit();
      const emit = await runner.run(taskId);
      const writing = (async () => {
        for (let n = 1; n <= 300; n += 3) await emit(step(n), step(n + 1), step(n + 2));
        await emit(...range(1, 300).map((n): EventBody => ({ type: 'step.completed', payload: { step_id: `s${n}` } })));
        await emit(SUCCEEDED);
      })();
      const seqs: number[] = [];
      let connections = 0;
      while (seqs.at(-1) !== 603) {
        const stream = await open(taskId, { gateway: connections++ % 2, lastEventId: String(seqs.at(-1) ?? 0) });
        let left = 1 + ((connections * 37) % 60);
        for await (const { id } of stream) {
          seqs.push(Number(id));
          if (--left === 0) break;
        }
        stream.close();
      }
      await writing;
      expect(seqs).toEqual(range(1, 603));
      expect(connections).toBeGreaterThan(5);
    });

    it('opens with the submission and ends right after the terminal event', async () => {
      const stream = await EventStream.open(url('/v1/tasks'), {
        key: ADMIN_KEY,
        body: { agent_id: 'scripted', input: 'x', task_id: 'with-stream' },
      });
      expect([stream.status, stream.headers.location]).toEqual([200, '/v1/tasks/with-stream']);
      const seqs = seqsOf(stream);
      const emit = await runner.run('with-stream');
      await emit(step(1), { type: 'step.completed', payload: { step_id: 's1' } });
      await emit(SUCCEEDED);
      expect(await seqs).toEqual([1, 2, 3, 4, 5]);
    });

    it('that came with the submission has the bytes of its replay', async () => {
      const body = { agent_id: 'scripted', input: 'x', task_id: 'same-bytes' };
      const text = (await EventStream.open(url('/v1/tasks'), { key: ADMIN_KEY, body })).text();
      const emit = await runner.run('same-bytes');
      await emit(SUCCEEDED);
      expect(await (await open('same-bytes', { gateway: 1 })).text()).toBe(await text);
    });

    it('shows a terminal event the bus has lost within two seconds', async () => {
      const taskId = await submit();
      const emit = await runner.run(taskId);
      const stream = await open(taskId);
      const seqs = seqsOf(stream);
      await emit(step(1), { type: 'step.completed', payload: { step_id: 's1' } });
      const taskKey = await runner.keyOf(taskId);
      const guard = { kind: 'run', runNo: 1, runPos: 2 } as const;
      const startedMs = performance.now();
      await runner.log.append([{ taskKey, guard, events: [draftEvent(SUCCEEDED)] }]);
      expect(await seqs).toEqual([1, 2, 3, 4, 5]);
      expect(performance.now() - startedMs).toBeLessThan(2_500);
    });

    it('serves ten slow readers and a quick one the same bytes while the task goes on', async () => {
      const taskId = await submit({ context: { detail: 'full' } });
      const emit = await runner.run(taskId);
      const slow = await Promise.all(range(1, 10).map((n) => open(taskId, { gateway: n % 2 })));
      for (const stream of slow) stream.pause();
      const quick = (await open(taskId)).text();
      const text = 'x'.repeat(8_000);
      for (let n = 1; n <= 400; n++) await emit({ type: 'thinking.delta', payload: { message_id: `m${n}`, text } });
      await emit(SUCCEEDED);
      const all = await quick;
      const others = await Promise.all(slow.map((stream) => stream.text()));
      expect(others.map((other) => other === all)).toEqual(slow.map(() => true));
      expect(all.match(/^id: \d+$/gm)?.map((line) => Number(line.slice(4)))).toEqual(range(1, 403));
    });

    it('narrows what is stored by detail and types, and refuses a cursor that is none', async () => {
      const taskId = await submit({ context: { detail: 'full' } });
      const emit = await runner.run(taskId);
      await emit({ type: 'message.delta', payload: { message_id: 'm', text: 'hi' } });
      await emit(
        { type: 'message.completed', payload: { message_id: 'm', role: 'assistant', text: 'hi', final: true } },
        SUCCEEDED,
      );
      expect(await seqsOf(await open(taskId))).toEqual([1, 2, 3, 4, 5]);
      expect(await seqsOf(await open(taskId, { query: '?detail=status' }))).toEqual([1, 2, 4, 5]);
      expect(await seqsOf(await open(taskId, { query: '?types=task.started,message.delta' }))).toEqual([2, 3]);
      expect(await seqsOf(await open(taskId, { query: '?from_seq=99' }))).toEqual([]);
      for (const cursor of ['-1', '1.5', 'x', 'evt_0', `evt_${'0'.repeat(32)}`]) {
        const answer = await call(url(`/v1/tasks/${taskId}/events?from_seq=${cursor}`));
        expect([answer.status, answer.body['code']]).toEqual([400, 'invalid_request']);
      }
      const page = await call(url(`/v1/tasks/${taskId}/events`), { headers: { accept: 'application/json' } });
      const [, started] = page.body['events'] as { event_id: string }[];
      expect(await seqsOf(await open(taskId, { lastEventId: started!.event_id }))).toEqual([3, 4, 5]);
    });

    it('also comes as pages, which wait when they are asked to', async () => {
      const taskId = await submit();
      const page = (query: string): ReturnType<typeof call> =>
        call(url(`/v1/tasks/${taskId}/events?${query}`), { headers: { accept: 'application/json' } });
      expect((await page('from_seq=1')).body).toEqual({ events: [], next_seq: 1, has_more: false, state: 'queued' });
      const waiting = page('from_seq=1&wait_seconds=20&types=task.succeeded');
      const emit = await runner.run(taskId);
      await emit(step(1), { type: 'step.completed', payload: { step_id: 's1' } });
      await emit(SUCCEEDED);
      expect((await waiting).body).toMatchObject({
        events: [{ seq: 5 }],
        next_seq: 5,
        has_more: false,
        state: 'succeeded',
      });
      expect((await page('limit=2')).body).toMatchObject({
        events: [{ seq: 1 }, { seq: 2 }],
        next_seq: 2,
        has_more: true,
        state: 'succeeded',
      });
      expect((await page('from_seq=900&wait_seconds=20')).body).toMatchObject({
        events: [],
        next_seq: 900,
        has_more: false,
      });
    });
  });

  describe('waiting and cancelling', () => {
    it('resolves a wait when the task ends, and when the time is over', async () => {
      const taskId = await submit();
      expect((await call(url(`/v1/tasks/${taskId}/wait?timeout_seconds=1`))).body).toMatchObject({
        state: 'queued',
        timed_out: true,
      });
      const waiting = call(url(`/v1/tasks/${taskId}/wait?timeout_seconds=30`, 1));
      const emit = await runner.run(taskId);
      await emit(SUCCEEDED);
      expect((await waiting).body).toMatchObject({ state: 'succeeded', timed_out: false, result: { text: 'done' } });
    });

    it('ends a task without a run at once, and answers 200 the second time', async () => {
      const taskId = await submit();
      const cancel = (): ReturnType<typeof call> =>
        call(url(`/v1/tasks/${taskId}/cancel`), { body: { reason: 'enough' } });
      const answer = await cancel();
      expect([answer.status, answer.body['state'], answer.body['cancel_requested']]).toEqual([202, 'cancelled', true]);
      expect((await cancel()).status).toBe(200);
      const text =
        'select action, principal, key_id, details, request_id from audit_records where target = $1 order by id';
      const requestId = answer.headers.get('x-request-id');
      expect(await runner.query(text, taskId)).toMatchObject([
        { action: 'task.submit', principal: 'admin', key_id: 'admin' },
        { action: 'task.cancel', key_id: 'admin', details: '{"reason":"enough"}', request_id: requestId },
      ]);
      expect(await seqsOf(await open(taskId))).toEqual([1, 2, 3]);
    });

    it('asks the runtime of an open run to stop, once, and tells it again when asked again', async () => {
      const taskId = await submit();
      const signals: string[] = [];
      await runner.listen('runtime:rt', (message) => void signals.push(message));
      await runner.run(taskId);
      const answers = [
        await call(url(`/v1/tasks/${taskId}/cancel`), { body: {} }),
        await call(url(`/v1/tasks/${taskId}/cancel`, 1), { body: {} }),
      ];
      expect(answers.map(({ status, body }) => [status, body['state'], body['last_seq']])).toEqual([
        [202, 'running', 3],
        [202, 'running', 3],
      ]);
      const signal = `cancel ${await runner.keyOf(taskId)} 1`;
      await until(() => signals.length === 2);
      expect(signals).toEqual([signal, signal]);
    });
  });

  it('shows who may not see a task that there is none', async () => {
    const taskId = await submit();
    for (const place of ['', '/events', '/wait', '/steps', '/artifacts']) {
      expect((await call(url(`/v1/tasks/not-${taskId}${place}`))).status).toBe(404);
    }
    expect((await call(url(`/v1/tasks/${taskId}`), { key: `swy_admin_${'b'.repeat(40)}` })).status).toBe(401);
  });

  it('is ready, and lists the agents of the file', async () => {
    expect((await call(url('/health/ready'))).body).toEqual({ status: 'ready', notes: ['audit_unsigned'] });
    const { agents } = (await call(url('/v1/agents', 1))).body as { agents: { agent_id: string }[] };
    expect(agents.map(({ agent_id }) => agent_id)).toEqual(['closed', 'scripted', 'strict']);
  });
});
