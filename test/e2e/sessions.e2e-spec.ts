import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import path from 'node:path';
import pg from 'pg';
import { describeEachBackingSet } from '../support/backing-sets.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { EventStream } from '../support/event-stream.js';
import { call, Installation } from '../support/installation.js';
import { FakeModelEndpoint } from '../support/fake-model-endpoint.js';
import { createKeys } from '../support/keys.js';
import type { ScriptStep } from '../support/scripted/index.js';
import { until } from '../support/until.js';

jest.setTimeout(120_000);

const LEASE_SECONDS = '10';
/** Long enough never to end by itself in a test; ends at once when it is cancelled. */
const ENDLESS: readonly ScriptStep[] = [{ wait_ms: 600_000 }, { result: 'never' }];
const SHORT: readonly ScriptStep[] = [{ wait_ms: 10 }, { result: 'done' }];

describeEachBackingSet(({ redisUrl }) => {
  let database: TestDatabase;
  let sql: pg.Client;
  let installation: Installation;
  let gateways: readonly [string, string];
  let model: FakeModelEndpoint;
  let keys: Record<'ann' | 'bob' | 'mallory' | 'stranger', string>;

  beforeAll(async () => {
    database = await createDatabase();
    sql = new pg.Client({ connectionString: database.url });
    await sql.connect();
    await sql.query('set search_path to switchyard');
    keys = await createKeys(database.url, {
      ann: { principal: 'ann' },
      bob: { principal: 'bob' },
      mallory: { principal: 'mallory', scopes: ['tasks:submit', 'tasks:read', 'tasks:cancel'] },
      stranger: { principal: 'ann', tenant: 'other' },
    });
    model = await FakeModelEndpoint.start([{ text: ['The model has answered.'] }]);
    const agents = path.resolve(import.meta.dirname, '../support/scripted/session-agents.yaml');
    const env = { LEASE_SECONDS, AGENTS_FILE: agents, MODEL_BASE_URL: model.baseUrl, MODEL_NAME: 'fake' };
    installation = await Installation.start({ databaseUrl: database.url, redisUrl, gateways: 2, runtimes: 2, env });
    gateways = installation.gateways.map(({ url }) => url) as [string, string];
  });

  afterAll(async () => {
    await installation?.stop();
    await model?.stop();
    await sql?.end();
    await database?.drop();
  });

  const ask = (body: object, gateway = 0, headers: Record<string, string> = {}): ReturnType<typeof call> =>
    call(`${gateways[gateway]}/v1/tasks`, { key: keys.ann, body: { agent_id: 'scripted', ...body }, headers });
  const submit = async (
    session_id: string,
    script: readonly ScriptStep[],
    more: object = {},
    gateway = 0,
  ): Promise<string> => {
    const answer = await ask({ session_id, input: { script }, ...more }, gateway);
    expect(answer).toMatchObject({ status: 202, body: { state: 'queued' } });
    return String(answer.body['task_id']);
  };
  const read = async (taskId: string, gateway = 1): Promise<Record<string, unknown>> =>
    (await call(`${gateways[gateway]}/v1/tasks/${taskId}`, { key: keys.ann })).body;
  const inState = (taskId: string, state: string, timeoutMs = 30_000): Promise<Record<string, unknown>> =>
    until(
      async () => {
        const task = await read(taskId);
        return task['state'] === state ? task : undefined;
      },
      { what: `${taskId} to be ${state}`, timeoutMs },
    );
  const cancel = (taskId: string, gateway = 1): ReturnType<typeof call> =>
    call(`${gateways[gateway]}/v1/tasks/${taskId}/cancel`, { method: 'POST', key: keys.ann });
  const eventsOf = async (taskId: string): Promise<[string, Record<string, unknown>][]> => {
    const page = await call(`${gateways[0]}/v1/tasks/${taskId}/events?limit=500`, {
      key: keys.ann,
      headers: { accept: 'application/json' },
    });
    const events = page.body['events'] as { event_type: string; payload: Record<string, unknown> }[];
    return events.map(({ event_type, payload }) => [event_type, payload]);
  };

  /** When the tasks of a session began and ended, in their order. */
  const times = async (sessionId: string): Promise<{ ordinal: number; started: number; finished: number }[]> => {
    const { rows } = await sql.query<{ ordinal: number; started: Date; finished: Date }>(
      `select t.ordinal::int as ordinal, h.started_at as started, t.finished_at as finished
       from tasks t join task_heads h using (task_key) where t.session_id = $1 order by t.ordinal`,
      [sessionId],
    );
    return rows.map((row) => ({ ...row, started: row.started.getTime(), finished: row.finished.getTime() }));
  };

  it('runs the tasks of a session one after another in the order of submission, those of other sessions beside them', async () => {
    const holder = await submit('order-held', ENDLESS);
    await inState(holder, 'running');
    const names = ['order-1', 'order-2', 'order-3'];
    const submissions = Array.from({ length: 36 }, (_, index) =>
      submit(names[index % 3] as string, SHORT, {}, index % 2),
    );
    const tasks = await Promise.all(submissions);
    await Promise.all(tasks.map((taskId) => inState(taskId, 'succeeded')));
    expect((await read(holder))['state']).toBe('running');
    for (const name of names) {
      const line = await times(name);
      expect(line.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
      line.slice(1).forEach(({ started }, index) => expect(started).toBeGreaterThanOrEqual(line[index]!.finished));
    }
    await cancel(holder);
    await inState(holder, 'cancelled');
    expect((await sql.query('select from outbox')).rowCount).toBe(0);
  });

  it('shows what a task waits for, and lists the tasks of a session', async () => {
    const first = await submit('shown', ENDLESS);
    const second = await submit('shown', SHORT, {}, 1);
    const third = await submit('shown', SHORT);
    await inState(first, 'running');
    expect(await read(second)).toMatchObject({ state: 'queued', session_id: 'shown', blocked_by: first });
    expect(await read(third, 0)).toMatchObject({ state: 'queued', session_id: 'shown', blocked_by: second });
    const list = await call(`${gateways[1]}/v1/tasks?session_id=shown`, { key: keys.ann });
    const listed = list.body['tasks'] as { task_id: string; blocked_by: string | null }[];
    expect(new Map(listed.map((task) => [task.task_id, task.blocked_by]))).toEqual(
      new Map([
        [third, second],
        [second, first],
        [first, null],
      ]),
    );
    // Cancelled in line, it frees nobody but those behind it.
    expect(await cancel(second)).toMatchObject({ status: 202, body: { state: 'cancelled', blocked_by: null } });
    expect(await read(third)).toMatchObject({ state: 'queued', blocked_by: first });
    await cancel(first);
    expect(await inState(third, 'succeeded')).toMatchObject({ blocked_by: null });
    expect((await eventsOf(second)).map(([type]) => type)).toEqual([
      'task.created',
      'task.cancel_requested',
      'task.cancelled',
    ]);
    expect((await eventsOf(third))[0]).toEqual(['task.created', expect.objectContaining({ session_id: 'shown' })]);
  });

  it('keeps the sessions of two users of one name apart', async () => {
    const held = await submit('mine', ENDLESS);
    const body = { agent_id: 'scripted', session_id: 'mine', input: 'x' };
    const other = await call(`${gateways[0]}/v1/tasks`, { key: keys.bob, body });
    await until(async () => {
      const task = await call(`${gateways[0]}/v1/tasks/${String(other.body['task_id'])}`, { key: keys.bob });
      return task.body['state'] === 'succeeded';
    });
    const forCarol = await submit('mine', SHORT, { context: { user_id: 'carol' } });
    await inState(forCarol, 'succeeded');
    expect(await read(held)).toMatchObject({ state: 'running' });
    await cancel(held);
  });

  it('tells the next task of a session what was said in it, and nobody else', async () => {
    const say = async (input: string, key: string, more: object = {}): Promise<unknown> => {
      const before = model.requests.length;
      const body = { agent_id: 'chat', session_id: 'talk', input, ...more };
      const { body: task } = await call(`${gateways[0]}/v1/tasks`, { key, body, headers: { 'x-api-mode': 'sync' } });
      expect(task).toMatchObject({ state: 'succeeded', result: { text: 'The model has answered.' } });
      expect(model.requests).toHaveLength(before + 1);
      return model.requests.at(-1)?.['messages'];
    };
    const secret = { role: 'user', content: 'The word is swordfish.' };
    const answer = { role: 'assistant', content: 'The model has answered.' };
    const question = { role: 'user', content: 'Which word?' };
    expect(await say(secret.content, keys.ann)).toEqual([secret]);
    expect(await say(question.content, keys.ann)).toEqual([secret, answer, question]);
    expect(await say(question.content, keys.bob)).toEqual([question]);
    expect(await say(question.content, keys.stranger)).toEqual([question]);
    expect(await say(question.content, keys.ann, { context: { user_id: 'carol' } })).toEqual([question]);
    expect(await say(question.content, keys.ann, { session_id: 'other talk' })).toEqual([question]);
    // Who may not see the tasks of others learns nothing of their conversations by naming whom they are with.
    const intruder = await call(`${gateways[1]}/v1/tasks`, {
      key: keys.mallory,
      body: { agent_id: 'chat', session_id: 'talk', input: question.content, context: { user_id: 'ann' } },
    });
    expect([intruder.status, intruder.body['code']]).toEqual([403, 'forbidden']);
    expect(await say('And again?', keys.ann)).toHaveLength(5);
  });

  it('remembers nothing of a task that failed', async () => {
    const keep = (n: number): ScriptStep => ({ result: 'kept', conversation: { n } });
    await inState(await submit('failing', [keep(1)]), 'succeeded');
    const bug: ScriptStep = { throw: { kind: 'bug' } };
    await inState(await submit('failing', [bug, keep(2)]), 'failed');
    const told = await inState(await submit('failing', [{ tell: ['conversation'] }]), 'succeeded');
    expect(told['result']).toMatchObject({ data: { conversation: { n: 1 } } });
  });

  it('streams a task that waits for its turn from its first event to its last', async () => {
    const first = await submit('streamed', ENDLESS);
    await inState(first, 'running');
    const body = { agent_id: 'scripted', session_id: 'streamed', input: { script: SHORT } };
    const stream = await EventStream.open(`${gateways[1]}/v1/tasks`, { key: keys.ann, body });
    await cancel(first);
    const types: string[] = [];
    for await (const frame of stream) types.push(frame.event);
    expect(types).toEqual(['task.created', 'task.started', 'message.completed', 'task.succeeded']);
  });

  it('holds the session while a task waits for somebody, and gives the turn on when that one is cancelled', async () => {
    const question = { tool_call_id: 'q', kind: 'question', prompt: 'Which?' } as const;
    const first = await submit('waits', [{ pause: [question] }, { result: 'after' }]);
    const second = await submit('waits', SHORT);
    await inState(first, 'waiting_for_input');
    expect(await read(second)).toMatchObject({ state: 'queued', blocked_by: first });
    expect(await cancel(first)).toMatchObject({ status: 202, body: { state: 'cancelled' } });
    await inState(second, 'succeeded');
  });

  it('holds the session until a task that waited has gone on and ended', async () => {
    const question = { tool_call_id: 'q', kind: 'question', prompt: 'Which?' } as const;
    const first = await submit('resumes', [{ pause: [question] }, { wait_ms: 300 }, { result: 'after' }]);
    const second = await submit('resumes', SHORT, {}, 1);
    await inState(first, 'waiting_for_input');
    const body = { input: 'this one' };
    const answer = await call(`${gateways[1]}/v1/tasks/${first}/resume`, { key: keys.ann, body });
    expect(answer.status).toBe(202);
    expect(await read(second)).toMatchObject({ state: 'queued', blocked_by: first });
    await inState(second, 'succeeded');
    const [one, two] = await times('resumes');
    expect(two!.started).toBeGreaterThanOrEqual(one!.finished);
  });

  it('counts the deadline of a task in line, and starts the one behind it', async () => {
    const first = await submit('late', ENDLESS);
    const second = await submit('late', SHORT, { deadline_seconds: 1 });
    const third = await submit('late', SHORT);
    expect(await inState(second, 'failed')).toMatchObject({ error: { code: 'deadline_exceeded' }, run_no: 0 });
    expect(await read(third)).toMatchObject({ state: 'queued', blocked_by: first });
    await cancel(first);
    await inState(third, 'succeeded');
  });

  it('refuses a task whose agent takes one at a time, unless it is a repeat', async () => {
    const body = { agent_id: 'alone', session_id: 'one', input: { script: ENDLESS } };
    const key = { 'idempotency-key': `one-${redisUrl === undefined}` };
    const first = await ask(body, 0, key);
    expect(first.status).toBe(202);
    const refused = await Promise.all(Array.from({ length: 6 }, (_, index) => ask(body, index % 2)));
    expect(refused.map((answer) => [answer.status, answer.body['code']])).toEqual(
      refused.map(() => [409, 'session_busy']),
    );
    expect(await ask(body, 1, key)).toMatchObject({ status: 202, body: { task_id: first.body['task_id'] } });
    const list = await call(`${gateways[0]}/v1/tasks?session_id=one`, { key: keys.ann });
    expect(list.body['tasks']).toHaveLength(1);
    await cancel(String(first.body['task_id']));
    await inState(String(first.body['task_id']), 'cancelled');
    const racing = await Promise.all(Array.from({ length: 8 }, (_, index) => ask(body, index % 2)));
    expect(racing.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(racing.filter(({ status }) => status === 409)).toHaveLength(7);
    await cancel(String(racing.find(({ status }) => status === 202)?.body['task_id']));
  });

  it('ends every unfinished task before one that takes over, and starts that one after them', async () => {
    const over = { agent_id: 'overtaker' };
    const first = await submit('over', ENDLESS, over);
    await inState(first, 'running');
    const second = await submit('over', ENDLESS, over);
    await Promise.all([inState(first, 'cancelled'), inState(second, 'running')]);
    const third = await submit('over', SHORT, over, 1);
    const end = await inState(third, 'succeeded');
    for (const [taskId, by] of [
      [first, second],
      [second, third],
    ] as const) {
      const task = await read(taskId);
      expect(task).toMatchObject({ state: 'cancelled', cancel_requested: true });
      expect(new Date(String(task['finished_at'])).getTime()).toBeLessThanOrEqual(
        new Date(String(end['started_at'])).getTime(),
      );
      const reason = `The task ${by} has taken over its session.`;
      expect(await eventsOf(taskId)).toEqual(
        expect.arrayContaining([['task.cancel_requested', { requested_by: 'ann', reason }]]),
      );
    }
  });

  it('lets several tasks that take over at once end in one winner, and none is left over', async () => {
    const tasks = await Promise.all(
      Array.from({ length: 8 }, (_, index) => submit('rush', SHORT, { agent_id: 'overtaker' }, index % 2)),
    );
    const last = (
      await sql.query<{ task_id: string }>(
        `select task_id from tasks where session_id = 'rush' order by ordinal desc limit 1`,
      )
    ).rows[0]!.task_id;
    await inState(last, 'succeeded');
    const states = await Promise.all(tasks.map(async (taskId) => (await read(taskId))['state']));
    // One that had ended before it could be overtaken stays as it is.
    expect(states.filter((state) => state !== 'cancelled' && state !== 'succeeded')).toEqual([]);
    await until(async () => (await sql.query('select from session_advance')).rowCount === 0);
  });

  it.each([
    ['scripted', 'succeeded'],
    ['fragile', 'failed'],
  ])('gives the turn on after the runtime of a task was killed: %s', async (agent_id, state) => {
    const runtime = await installation.addRuntime({ RUNTIME_ID: `victim-${agent_id}` });
    const hold: readonly ScriptStep[] = [{ run: 1, wait_ms: 600_000 }, { result: 'again' }];
    let session = '';
    let first = '';
    // Whichever runtime takes it; only the victim's counts.
    for (let attempt = 0; first === ''; attempt += 1) {
      session = `killed-${agent_id}-${attempt}`;
      const candidate = await submit(session, hold, { agent_id });
      await inState(candidate, 'running');
      const [, started] = (await eventsOf(candidate))[1]!;
      if (started['runtime_id'] === `victim-${agent_id}`) first = candidate;
      else await cancel(candidate);
    }
    const second = await submit(session, SHORT, { agent_id }, 1);
    installation.runtimes.splice(installation.runtimes.indexOf(runtime), 1);
    await runtime.end('SIGKILL');
    expect(await read(second)).toMatchObject({ state: 'queued', blocked_by: first });
    await inState(second, 'succeeded', 60_000);
    expect(await read(first)).toMatchObject({ state });
    const [one, two] = await times(session);
    expect(two!.started).toBeGreaterThanOrEqual(one!.finished);
  });
});
