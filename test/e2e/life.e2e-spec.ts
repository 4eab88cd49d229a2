import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { describeEachBackingSet } from '../support/backing-sets.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { EventStream, type ReceivedFrame } from '../support/event-stream.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { RedisServer } from '../support/redis-server.js';
import type { ScriptStep } from '../support/scripted/index.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

jest.setTimeout(90_000);

type Body = Record<string, unknown>;

const STARTED: ScriptStep = { event: { type: 'step.started', payload: { step_id: 's', step_name: 'Work' } } };
const AGAIN: ScriptStep = { event: { type: 'step.retrying', payload: { step_id: 's', attempt: 2 } }, run: 2 };
const COMPLETED: ScriptStep = { event: { type: 'step.completed', payload: { step_id: 's' } } };
const LONG: ScriptStep = { wait_ms: 80_000 };
const MESSAGE = expect.any(String);

describeEachBackingSet(({ name }) => {
  let database: TestDatabase;
  let redis: RedisServer | undefined;
  let installation: Installation;

  beforeAll(async () => {
    database = await createDatabase();
    redis = name === 'redis' ? await RedisServer.start() : undefined;
    installation = await Installation.start({
      databaseUrl: database.url,
      redisUrl: redis?.url,
      gateways: 2,
      runtimes: 1,
      env: { LEASE_SECONDS: '10', AGENTS_FILE: 'test/e2e/life.agents.yaml' },
    });
  });

  afterAll(async () => {
    await installation?.stop();
    await redis?.remove();
    await database?.drop();
  });

  const at = (gateway: number, path = ''): string => `${installation.gateways[gateway]!.url}/v1/tasks${path}`;

  async function submit(agentId: string, script: readonly ScriptStep[], more: object = {}): Promise<string> {
    const answer = await call(at(0), { body: { agent_id: agentId, input: { script }, ...more } });
    expect([answer.status, answer.body['status']]).toEqual([202, 'pending']);
    return String(answer.body['task_id']);
  }

  const snapshot = async (taskId: string): Promise<Body> => (await call(at(1, `/${taskId}`))).body;

  function shows(taskId: string, expected: Body): Promise<Body> {
    const isSo = async (): Promise<Body> => {
      const body = await snapshot(taskId);
      expect(body).toMatchObject(expected);
      return body;
    };
    return until(isSo, { timeoutMs: 60_000, intervalMs: 50, what: `${taskId} to be ${JSON.stringify(expected)}` });
  }

  async function log(taskId: string): Promise<{ type: string; payload: Body }[]> {
    const { body } = await call(at(1, `/${taskId}/events?limit=500`), { headers: { accept: 'application/json' } });
    const events = body['events'] as { event_type: string; payload: Body }[];
    return events.map(({ event_type: type, payload }) => ({ type, payload }));
  }

  /** The payloads of a type, in order. */
  const payloads = async (taskId: string, type: string): Promise<Body[]> =>
    (await log(taskId)).filter((event) => event.type === type).map(({ payload }) => payload);

  const cancel = (gateway: number, taskId: string): ReturnType<typeof call> =>
    call(at(gateway, `/${taskId}/cancel`), { body: { reason: 'enough' } });

  describe('a cancel', () => {
    it('is confirmed by a run that stops, forced on one that does not, and loses to a result that comes first', async () => {
      const [obedient, stubborn, winner] = await Promise.all([
        submit('brisk', [STARTED, LONG, { result: 'late' }]),
        submit('brisk', [STARTED, { ...LONG, stubborn: true }, { result: 'late' }]),
        submit('gracious', [
          { wait_ms: 3_000, stubborn: true },
          { result: 'done', stubborn: true },
        ]),
      ]);
      const all = [obedient, stubborn, winner];
      await Promise.all(all.map((taskId) => shows(taskId, { state: 'running' })));
      const answers = await Promise.all(all.map((taskId, index) => cancel(index % 2, taskId)));
      expect(answers.map(({ status, body }) => [status, body['cancel_requested']])).toEqual([
        [202, true],
        [202, true],
        [202, true],
      ]);
      await shows(obedient, { state: 'cancelled', status: 'cancelled', run_no: 1, error: null });
      await shows(stubborn, { state: 'cancelled' });
      await shows(winner, { state: 'succeeded', result: { text: 'done' }, cancel_requested: true });
      expect(await payloads(obedient, 'task.cancelled')).toEqual([{ forced: false }]);
      expect(await payloads(stubborn, 'task.cancelled')).toEqual([{ forced: true }]);
      expect(await payloads(winner, 'task.cancelled')).toEqual([]);
      expect(await payloads(winner, 'task.cancel_requested')).toEqual([{ requested_by: 'admin', reason: 'enough' }]);
      const [step] = (await call(at(0, `/${obedient}/steps`))).body['steps'] as Body[];
      expect(step).toMatchObject({ state: 'cancelled' });
      expect((await cancel(1, obedient)).status).toBe(200);
    });
  });

  describe('a task without progress', () => {
    it('is shown with the tool it waits for while it lives on, and as recovered when it goes on', async () => {
      const slow = { tool_call_id: 'c', tool_name: 'slow' };
      const taskId = await submit('brisk', [
        { event: { type: 'tool.invoked', payload: slow } },
        { wait_ms: 13_000 },
        { event: { type: 'tool.completed', payload: slow } },
        { wait_ms: 300 },
        { result: 'done' },
      ]);
      const frames: ReceivedFrame[] = [];
      const stream = await EventStream.open(at(1, `/${taskId}/events`), { key: ADMIN_KEY });
      const read = (async () => {
        for await (const frame of stream) frames.push(frame);
      })();
      const stalled = await shows(taskId, { state: 'running', stalled: true, waiting_on: 'slow', run_no: 1 });
      expect(stalled['last_heartbeat_at']).not.toBeNull();
      await shows(taskId, { state: 'succeeded', stalled: false, waiting_on: null, run_no: 1 });
      await read;
      expect(frames.filter(({ id }) => id !== undefined).map(({ event }) => event)).toEqual([
        'task.created',
        'task.started',
        'tool.invoked',
        'task.stalled',
        'tool.completed',
        'task.recovered',
        'message.completed',
        'task.succeeded',
      ]);
      expect(await payloads(taskId, 'task.stalled')).toEqual([{ reason: 'no_progress', waiting_on: 'slow' }]);
      const beats = frames.filter(({ event }) => event === 'heartbeat');
      expect(beats.length).toBeGreaterThanOrEqual(5);
      expect(beats.map(({ id }) => id)).toEqual(beats.map(() => undefined));
      const bodies = beats.map(({ data }) => JSON.parse(data) as Body);
      expect(bodies[3]).toMatchObject({ task_id: taskId, payload: { run_no: 1, waiting_on: 'slow' } });
      expect(bodies[3]).not.toHaveProperty('seq');
    });

    it('that no runtime takes waits for a worker, is shown so once, and fails at its deadline for want of a backend', async () => {
      const taskId = await submit('deserted', [{ result: 'never' }], { deadline_seconds: 16 });
      const hasty = await submit('deserted', [{ result: 'never' }], { deadline_seconds: 2 });
      await shows(taskId, { state: 'queued', stalled: true, waiting_on: 'worker', run_no: 0 });
      await shows(hasty, { state: 'failed', error: { code: 'deadline_exceeded' } });
      await shows(taskId, {
        state: 'failed',
        stalled: false,
        error: { code: 'backend_unavailable', message: MESSAGE },
      });
      expect((await log(taskId)).map(({ type }) => type)).toEqual(['task.created', 'task.stalled', 'task.failed']);
      expect(await payloads(taskId, 'task.failed')).toEqual([
        { error: { code: 'backend_unavailable', message: MESSAGE }, phase: 'queued' },
      ]);
    });
  });

  describe('a runtime that dies', () => {
    it('loses its runs, whose tasks go on, start over or end as their agents want, and the one it dies of is listed', async () => {
      const file = [STARTED, { checkpoint: 1 }, { ...LONG, run: 1 }, AGAIN, COMPLETED, { result: 'done' }] as const;
      const [resumed, restarted, failed, cancelled] = await Promise.all([
        submit('brisk', file),
        submit('afresh', [{ ...STARTED, run: 1 }, { ...LONG, run: 1 }, AGAIN, COMPLETED, { result: 'done' }]),
        submit('once', [STARTED, LONG, { result: 'never' }]),
        submit('gracious', [STARTED, { ...LONG, stubborn: true }]),
      ]);
      for (const taskId of [resumed, restarted, failed, cancelled]) await shows(taskId, { current_step: 'Work' });
      await cancel(0, cancelled);
      const [dying] = installation.runtimes.splice(0, 1);
      const poison = await submit('fatal', [{ crash: true }]);
      await dying!.exited;
      await installation.addRuntime();

      await shows(resumed, { state: 'succeeded', run_no: 2, result: { text: 'done' } });
      await shows(restarted, { state: 'succeeded', run_no: 2 });
      await shows(failed, { state: 'failed', run_no: 1, error: { code: 'runtime_lost' } });
      await shows(poison, { state: 'failed', run_no: 1, error: { code: 'poison' } });
      await shows(cancelled, { state: 'cancelled', run_no: 1 });
      for (const taskId of [resumed, restarted]) {
        expect(await payloads(taskId, 'task.retrying')).toEqual([{ run_no: 2, runtime_id: MESSAGE, reason: 'lost' }]);
        const { body } = await call(at(0, `/${taskId}/steps`));
        expect(body['steps']).toMatchObject([{ step_id: 's', state: 'completed', attempt: 2, error: null }]);
      }
      expect(await payloads(cancelled, 'task.cancelled')).toEqual([{ forced: true }]);
      const listed = await call(at(1, '?state=failed&error_code=poison'));
      expect((listed.body['tasks'] as Body[]).map((task) => task['task_id'])).toEqual([poison]);
    });

    it('by order finishes what it can, hands the rest over, and loses nothing that comes in meanwhile', async () => {
      const [quick, lasting] = await Promise.all([
        submit('brisk', [{ wait_ms: 1_000 }, { result: 'in time' }]),
        submit('brisk', [STARTED, { checkpoint: 1 }, { ...LONG, run: 1 }, AGAIN, COMPLETED, { result: 'elsewhere' }]),
      ]);
      await shows(quick, { state: 'running' });
      await shows(lasting, { state: 'running', current_step: 'Work' });
      const [leaving] = installation.runtimes.splice(0, 1);
      const ended = leaving!.end('SIGTERM');
      const late = await submit('brisk', [{ result: 'later' }]);
      expect(await ended).toBe(0);
      expect(await snapshot(quick)).toMatchObject({ state: 'succeeded', run_no: 1, result: { text: 'in time' } });
      expect(await snapshot(lasting)).toMatchObject({ state: 'running', run_no: 1 });
      expect(await snapshot(late)).toMatchObject({ state: 'queued', run_no: 0 });
      await installation.addRuntime();
      await shows(late, { state: 'succeeded', run_no: 1 });
      await shows(lasting, { state: 'succeeded', run_no: 2, result: { text: 'elsewhere' } });
      expect(await payloads(lasting, 'task.retrying')).toEqual([
        { run_no: 2, runtime_id: MESSAGE, reason: 'handover' },
      ]);
    });
  });

  describe('a runner that throws', () => {
    it('is tried again as often as its agent allows where nothing has happened, and never where something may have', async () => {
      const [second, never, unknown] = await Promise.all([
        submit('brisk', [{ throw: { kind: 'unavailable' }, run: 1 }, { result: 'done' }]),
        submit('brisk', [{ throw: { kind: 'timeout' } }]),
        submit('brisk', [{ throw: { kind: 'timeout', effects: 'possible' } }]),
      ]);
      await shows(second, { state: 'succeeded', run_no: 2 });
      await shows(never, { state: 'failed', run_no: 3, error: { code: 'timeout' } });
      await shows(unknown, { state: 'failed', run_no: 1, error: { code: 'outcome_unknown' } });
      const error = { code: 'timeout', message: MESSAGE };
      expect(await payloads(never, 'task.retrying')).toEqual([
        { run_no: 2, runtime_id: MESSAGE, reason: 'error', error },
        { run_no: 3, runtime_id: MESSAGE, reason: 'error', error },
      ]);
      expect(await payloads(unknown, 'task.failed')).toEqual([
        { error: { code: 'outcome_unknown', message: MESSAGE }, phase: 'observe', remote_reference: 'remote-1' },
      ]);
    });

    it.each<[string, readonly ScriptStep[]]>([
      ['time', [LONG]],
      [
        'tool calls',
        ['a', 'b'].map((id) => ({ event: { type: 'tool.invoked', payload: { tool_call_id: id, tool_name: 't' } } })),
      ],
      [
        'tokens',
        [
          {
            event: {
              type: 'model.usage',
              payload: { model: 'm', usage: { input_tokens: 90, output_tokens: 11 } },
            },
          },
        ],
      ],
    ])('or uses more %s than its agent may ends over its budget', async (_, script) => {
      const taskId = await submit('frugal', [...script, LONG, { result: 'rich' }]);
      const ended = await shows(taskId, { state: 'failed', run_no: 1 });
      expect(ended['error']).toEqual({ code: 'budget_exceeded', message: MESSAGE });
    });
  });

  (name === 'redis' ? describe : describe.skip)('a Redis that is gone', () => {
    it('costs nothing that is submitted or watched meanwhile', async () => {
      const running = await submit('brisk', [STARTED, { wait_ms: 4_000 }, COMPLETED, { result: 'done' }]);
      await shows(running, { current_step: 'Work' });
      await redis!.kill();
      const taskId = await submit('brisk', [{ result: 'after' }]);
      const stream = await EventStream.open(at(1, `/${running}/events`), { key: ADMIN_KEY });
      const seen: string[] = [];
      for await (const { id, event } of stream) if (id !== undefined) seen.push(event);
      expect(seen.at(-1)).toBe('task.succeeded');
      await redis!.start();
      await shows(taskId, { state: 'succeeded', run_no: 1 });
    });
  });

  describe('a Postgres that is gone', () => {
    it('is answered for with 503 and when to come back, and served again when it is there', async () => {
      const url = new URL(database.url);
      const proxy = await TcpProxy.start(Number(url.port));
      url.port = String(proxy.port);
      const { url: gateway } = await installation.addGateway({ DATABASE_URL: url.href });
      const body = { agent_id: 'brisk', input: { script: [{ result: 'done' }] }, task_id: 'once-it-is-back' };
      proxy.cut();
      const refused = await call(`${gateway}/v1/tasks`, { body });
      expect([refused.status, refused.body['code']]).toEqual([503, 'unavailable']);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect((await fetch(`${gateway}/health/ready`)).status).toBe(503);
      proxy.mend();
      await until(async () => (await call(`${gateway}/v1/tasks`, { body })).status === 202);
      await shows('once-it-is-back', { state: 'succeeded', run_no: 1 });
      await installation.gateways.pop()!.end('SIGTERM');
      await proxy.close();
    });
  });

  describe('the metrics', () => {
    const value = (text: string, series: string): number => {
      const line = text.split('\n').find((each) => each.startsWith(`${series} `));
      return Number(line?.slice(series.length + 1) ?? Number.NaN);
    };
    const page = async (url: string, key?: string): Promise<{ status: number; type: string | null; text: string }> => {
      const response = await fetch(`${url}/metrics`, { headers: key === undefined ? {} : { 'x-api-key': key } });
      return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
    };

    it('of a gateway are for those who may read them', async () => {
      const { reader, other } = await createKeys(database.url, {
        reader: { scopes: ['metrics:read'] },
        other: { scopes: ['tasks:read', 'tasks:all'] },
      });
      const { url } = installation.gateways[0]!;
      expect((await page(url)).status).toBe(401);
      expect((await page(url, other)).status).toBe(403);
      expect(await page(url, reader)).toMatchObject({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' });
    });

    it('tell what has happened, under routes and codes and never under ids', async () => {
      const taskId = await submit('brisk', [{ throw: { kind: 'unavailable' }, run: 1 }, { wait_ms: 1_500 }, { result: 'x' }]); // prettier-ignore
      await shows(taskId, { state: 'running', run_no: 2 });
      const { text: busy } = await page(installation.runtimes[0]!.url);
      expect(value(busy, 'switchyard_runs_open')).toBe(1);
      await shows(taskId, { state: 'succeeded' });
      const [gateways, runtimes] = await Promise.all([
        Promise.all(installation.gateways.map(({ url }) => page(url, ADMIN_KEY))),
        Promise.all(installation.runtimes.map(({ url }) => page(url))),
      ]);
      const [gateway, runtime] = [gateways[0]!.text, runtimes[0]!.text];
      const claimed = 'switchyard_runs_claimed_total';
      for (const series of [
        'switchyard_tasks_submitted_total',
        'switchyard_http_requests_total{method="POST",route="/v1/tasks",status="202"}',
        'switchyard_http_request_seconds_count{method="POST",route="/v1/tasks"}',
        'switchyard_sweep_seconds_count{sweep="lost runs"}',
      ]) {
        expect([series, value(gateway, series) > 0]).toEqual([series, true]);
      }
      for (const series of [
        `${claimed}{runner="scripted",reason="submitted"}`,
        `${claimed}{runner="scripted",reason="error"}`,
        'switchyard_tasks_ended_total{state="succeeded"}',
        'switchyard_runs_retried_total',
        'switchyard_append_batch_events_count',
        'switchyard_append_seconds_count',
        'process_cpu_seconds_total',
      ]) {
        expect([series, value(runtime, series) > 0]).toEqual([series, true]);
      }
      expect(value(gateway, 'switchyard_outbox_due')).toBe(0);
      expect(value(gateway, 'switchyard_queue_depth{pool="scripted"}')).toBe(0);
      expect(value(gateway, 'switchyard_sweep_lag_seconds{sweep="outbox"}')).toBeLessThan(30);
      for (const { text } of [...gateways, ...runtimes]) expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-7|swy_/);
    });
  });
});
