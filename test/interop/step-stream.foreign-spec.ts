import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import { testRedisUrl } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { pathOf } from './drivers/step-stream.client.js';
import { buildClient, GoClient, type GoCall } from './step-stream/go-client.js';

const folder = mkdtempSync(path.join(tmpdir(), 'switchyard-step-stream-'));
const built = buildClient(folder);
if ('missing' in built) process.stderr.write(`The Go client of step-stream is not run: it needs ${built.missing}\n`);

let database: TestDatabase;
let installation: Installation;
let go: GoClient;
let here: string;
let there: string;

const describeWithGo = 'missing' in built ? describe.skip : describe;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describeWithGo("step-stream's own Go client", () => {
  beforeAll(async () => {
    database = await createDatabase();
    installation = await Installation.start({
      databaseUrl: database.url,
      redisUrl: testRedisUrl(),
      gateways: 2,
      runtimes: 1,
      env: { AGENTS_FILE: path.resolve('test/interop/agents.yaml') },
    });
    [here, there] = installation.gateways.map(({ url }) => url) as [string, string];
    go = new GoClient((built as { program: string }).program);
  }, 120_000);

  afterAll(async () => {
    await go?.close();
    await installation?.stop();
    await database?.drop();
  });

  const step = (type: string, more: object = {}): object => ({
    event: { type: `step.${type}`, payload: { step_id: 'plan', ...more } },
  });
  const PLAN = [step('started', { step_name: 'plan' }), step('completed')];
  const QUESTION = { pause: [{ tool_call_id: 'q', kind: 'question', prompt: 'Which?' }] };
  const ENDLESS = [PLAN[0]!, { wait_ms: 600_000 }];
  /** Long enough for whoever looks at the step before it is over. */
  const SLOW = [PLAN[0]!, { wait_ms: 1500 }, PLAN[1]!, { result: 'done' }];

  function run(script: readonly object[], more: object = {}): GoCall {
    return go.ask({ op: 'run', url: here, key: ADMIN_KEY, args: JSON.stringify({ script }), ...more });
  }

  /** Arguments alone, without anybody who watches. */
  async function start(args: string): Promise<{ task_id: string; accepted: boolean }> {
    const { result } = await go.ask({ op: 'start', url: here, key: ADMIN_KEY, args }).ended;
    return JSON.parse(result!) as { task_id: string; accepted: boolean };
  }

  const observe = (url: string, taskId: string): GoCall => go.ask({ op: 'observe', url, key: ADMIN_KEY, taskId });
  const progressOf = ({ lines }: GoCall): string[] =>
    lines.flatMap(({ label, status }) => (status === undefined ? [] : [`${label} ${status}`]));
  const told = (call: GoCall, progress: string): Promise<boolean> => until(() => progressOf(call).includes(progress));

  async function taskOf(id: string): Promise<Record<string, unknown>> {
    return (await call(`${there}/v1/tasks/${id}`)).body;
  }

  /** The newest task there is: with its result the client does not say which task it came from. */
  async function newest(): Promise<Record<string, unknown>> {
    const { body } = await call(`${there}/v1/tasks?limit=1`);
    return (body['tasks'] as [Record<string, unknown>])[0];
  }

  async function eventsOf(id: string, type: string): Promise<readonly Record<string, unknown>[]> {
    const { body } = await call(`${there}/v1/tasks/${id}/events?types=${type}`, {
      headers: { accept: 'application/json' },
    });
    return (body['events'] as { payload: Record<string, unknown> }[]).map(({ payload }) => payload);
  }

  describe('a call', () => {
    it('is a task that runs by itself to its end, whose answer is the result', async () => {
      const called = run([...PLAN, { artifact: { name: 'made.txt', text: 'made' } }, { result: 'done' }]);
      expect(await called.ended).toEqual({ result: 'done\n\nmade.txt' });
      expect(progressOf(called)).toEqual(['task created', 'task running', 'plan running', 'plan completed']);
      expect(await newest()).toMatchObject({ agent_id: 'scripted', state: 'succeeded', artifact_count: 1 });
    });

    it('without anybody who watches is begun, and goes to its end as well', async () => {
      const { task_id, accepted } = await start(JSON.stringify({ script: SLOW }));
      expect(accepted).toBe(true);
      expect((await call(`${there}/v1/tasks/${task_id}/wait`)).body).toMatchObject({ state: 'succeeded' });
    });

    it.each([
      ['that nest as deep as we take them', `${'['.repeat(60)}${']'.repeat(60)}`],
      ['of as many values as its client reads', JSON.stringify(Array.from({ length: 99_994 }, () => 1))],
      ['with letters of all kinds', JSON.stringify({ "it's": 'naïve 😀 </script> \u2028 \u0000'.slice(0, -2) })],
    ])('takes arguments %s', async (_, given) => {
      const { task_id } = await start(`{"script":[{"tell":["input"]}],"given":${given}}`);
      const { lines, ended } = observe(there, task_id);
      expect(await ended).toEqual({ result: null });
      expect(lines.at(-2)!.step).toMatchObject({ status: 'completed', is_last: true });
      expect(await taskOf(task_id)).toMatchObject({ state: 'succeeded' });
    });

    it.each([
      ['without a key that is known', { key: 'swy_none' }, '401'],
      ['with arguments deeper than we take them', { args: `{"a":${'['.repeat(80)}${']'.repeat(80)}}` }, '422'],
    ])('%s begins nothing, and says why', async (_, more, status) => {
      const before = await newest();
      const { ended } = run([{ result: 'never' }], more);
      expect(await ended).toMatchObject({
        result: null,
        phase: 'create',
        outcome: 'unknown',
        cause: expect.stringContaining(`status ${status}`),
      });
      expect((await newest())['task_id']).toBe(before['task_id']);
    });

    it('that fails says so, with the words for it and no others', async () => {
      const { taskId, ...seen } = await run([PLAN[0]!, { throw: { kind: 'bug' } }]).ended;
      expect(seen).toMatchObject({ phase: 'observe', outcome: 'failed', result: null });
      expect(seen.step).toMatchObject({ status: 'failed', output: 'Something went wrong on our side.' });
      expect(await taskOf(taskId!)).toMatchObject({ state: 'failed', error: { code: 'internal' } });
    });

    it.each([
      ['long', { result: 'long '.repeat(20_000) }, 'long '.repeat(20_000)],
      ['strange', { result: 'naïve 😀 \u2028 id: 1\n\ndata: {}\r\n' }, 'naïve 😀 \u2028 id: 1\n\ndata: {}\r\n'],
    ])('with a %s answer gets it whole', async (_, result, text) => {
      expect(await run([result]).ended).toEqual({ result: text });
    });

    it('whose answer has data as deep as we take is read', async () => {
      const script = JSON.stringify([{ result: { text: 'deep', data: nested(60), metadata: {} } }]);
      const { body } = await call(`${here}/v1/tasks`, { body: { agent_id: 'scripted', input: script } });
      const { lines, ended } = observe(there, String(body['task_id']));
      expect(await ended).toEqual({ result: null });
      expect(lines.at(-2)!.step).toMatchObject({ status: 'completed', is_last: true, output: 'deep' });
    });
  });

  describe('a step', () => {
    it('that waits for somebody is answered over another protocol while the client watches', async () => {
      const called = run([QUESTION, { result: 'answered' }]);
      await told(called, 'question running');
      const { task_id } = await newest();
      const steps = pathOf({ url: there, key: ADMIN_KEY }, `/${String(task_id)}/steps`);
      // Handed out first, as one executes it; then answered.
      expect((await call(steps, { body: {} })).body).toMatchObject({ status: 'running', output: 'Which?' });
      expect((await call(steps, { body: { input: 'this' } })).status).toBe(200);
      expect(await called.ended).toEqual({ result: 'answered' });
      expect(progressOf(called).slice(2)).toEqual(['question running', 'question completed']);
      expect(await eventsOf(String(task_id), 'task.resumed')).toMatchObject([
        { decisions: [{ tool_call_id: 'q', input: 'this' }] },
      ]);
    });

    it('that fails on the way is no failure of the call', async () => {
      const failed = step('failed', { error: { code: 'x', message: 'no' } });
      const called = run([PLAN[0]!, failed, { result: 'done' }]);
      expect(await called.ended).toEqual({ result: 'done' });
      expect(progressOf(called).slice(2)).toEqual(['plan running', 'plan completed']);
    });
  });

  describe('a cancel', () => {
    it('is what the client sends when its caller goes, and stops the task', async () => {
      const called = run(ENDLESS);
      await told(called, 'plan running');
      void go.ask({ op: 'leave', of: called.n });
      const { taskId, ...seen } = await called.ended;
      expect(seen).toMatchObject({ phase: 'observe', outcome: 'unknown', isGone: true });
      expect(called.lines.flatMap(({ cancel }) => cancel ?? [])).toEqual([
        { taskId, stage: 'request', acknowledged: true, cause: '' },
      ]);
      await until(async () => (await taskOf(taskId!))['state'] === 'cancelled');
      const { lines, ended } = observe(there, taskId!);
      await ended;
      expect(lines.at(-2)!.step).toMatchObject({ status: 'cancelled', is_last: true });
    });

    it("is what it sends at its caller's deadline", async () => {
      const called = run(ENDLESS, { millis: 1500 });
      const { taskId, isTimeout } = await called.ended;
      expect(isTimeout).toBe(true);
      expect(called.lines.find(({ cancel }) => cancel)?.cancel).toMatchObject({ acknowledged: true });
      await until(async () => (await taskOf(taskId!))['state'] === 'cancelled');
    });

    it('that comes behind the result is taken, and changes nothing', async () => {
      const called = run([{ result: 'done' }], { leaveAt: 'result' });
      expect(await called.ended).toEqual({ result: 'done' });
      const { cancel } = called.lines.find((line) => line.cancel)!;
      expect(cancel).toMatchObject({ acknowledged: true });
      expect(await taskOf(cancel!.taskId)).toMatchObject({ state: 'succeeded', cancel_requested: false });
    });

    it('by somebody else ends the call as cancelled', async () => {
      const called = run(ENDLESS);
      await told(called, 'plan running');
      const { task_id } = await newest();
      expect((await call(`${there}/v1/tasks/${String(task_id)}/cancel`, { method: 'POST' })).status).toBe(202);
      expect(await called.ended).toMatchObject({
        phase: 'observe',
        outcome: 'cancelled',
        taskId: task_id,
        step: { status: 'cancelled', is_last: true },
      });
    });

    it('is not what it means that a consumer has had enough', async () => {
      const called = run(SLOW, { stopAt: 'plan' });
      expect(await called.ended).toMatchObject({ result: null, error: expect.stringContaining('enough') });
      const { task_id } = await newest();
      expect((await call(`${there}/v1/tasks/${String(task_id)}/wait`)).body).toMatchObject({
        state: 'succeeded',
        cancel_requested: false,
      });
    });
  });

  describe('a stream', () => {
    it('of a task that has ended is told again, the same on every gateway, and ends at once', async () => {
      const { task_id } = await start(JSON.stringify({ script: [...PLAN, { result: 'done' }] }));
      const stepsAt = async (url: string): Promise<unknown[]> => {
        const { lines, ended } = observe(url, task_id);
        expect(await ended).toEqual({ result: null });
        return lines.flatMap((line) => line.step ?? []);
      };
      const first = await stepsAt(here);
      expect(first).toHaveLength(5);
      const startedMs = performance.now();
      expect([await stepsAt(there), await stepsAt(here)]).toEqual([first, first]);
      expect(performance.now() - startedMs).toBeLessThan(2000);
    });

    it('whose gateway stops goes on at another, where it was, without a step told twice', async () => {
      const port = (url: string): number => Number(new URL(url).port);
      const leaving = await installation.addGateway();
      const between = await TcpProxy.start(port(leaving.url));
      const called = run([...SLOW.slice(0, 1), { wait_ms: 4000 }, ...SLOW.slice(2)], {
        url: `http://127.0.0.1:${between.port}`,
      });
      await told(called, 'plan running');
      between.aim(port(there));
      expect(await leaving.end('SIGTERM')).toBe(0);
      expect(await called.ended).toEqual({ result: 'done' });
      expect(progressOf(called)).toEqual(['task created', 'task running', 'plan running', 'plan completed']);
      await between.close();
      expect(await newest()).toMatchObject({ state: 'succeeded', run_no: 1 });
    });

    it('of a task that is not there ends as unknown, once', async () => {
      const { ended } = observe(here, 'none');
      expect(await ended).toMatchObject({ outcome: 'unknown', cause: expect.stringContaining('404') });
    });
  });
});

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = { a: value };
  return value;
}
