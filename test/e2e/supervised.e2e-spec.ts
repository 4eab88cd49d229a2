import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import path from 'node:path';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation } from '../support/installation.js';
import { testRedisUrl } from '../support/redis.js';
import { until } from '../support/until.js';

jest.setTimeout(120_000);

type Body = Record<string, unknown>;
interface Event {
  readonly event_type: string;
  readonly payload: Body;
}
interface Pending {
  readonly tool_call_id: string;
  readonly kind: string;
  readonly tool_name?: string;
  readonly arguments?: Body;
  readonly prompt?: string;
  readonly digest: string;
}

const TEXT = 'The tram was late again. The driver was friendly, but nobody explained the delay. Passengers are angry.';
const PER_CALL = ['step.started', 'tool.invoked', 'tool.completed', 'step.completed'];

let database: TestDatabase;
let installation: Installation;

beforeAll(async () => {
  database = await createDatabase();
  const env = { AGENTS_FILE: path.resolve('agents.yaml'), LEASE_SECONDS: '10' };
  installation = await Installation.start({
    databaseUrl: database.url,
    redisUrl: testRedisUrl(),
    gateways: 1,
    runtimes: 1,
    env,
  });
});

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
});

const url = (rest = ''): string => `${installation.gateways[0]!.url}/v1/tasks${rest}`;
const read = async (id: string, rest = ''): Promise<Body> => (await call(url(`/${id}${rest}`))).body;
const resume = (id: string, body: unknown): ReturnType<typeof call> => call(url(`/${id}/resume`), { body });

async function submit(body: Body): Promise<string> {
  const answer = await call(url(), { body });
  expect([answer.status, answer.body['code']]).toEqual([202, undefined]);
  return String(answer.body['task_id']);
}

/** What the task waits for, once it does. */
async function asked(id: string): Promise<readonly Pending[]> {
  const task = await read(id, '/wait?timeout_seconds=60');
  expect(task).toMatchObject({ state: 'waiting_for_input', timed_out: false });
  return task['pending_confirms'] as Pending[];
}

/** Answers, and resolves with the task when it has ended or waits again. */
async function answered(id: string, body: unknown): Promise<Body> {
  const answer = await resume(id, body);
  expect([answer.status, answer.body['code']]).toEqual([202, undefined]);
  return read(id, '/wait?timeout_seconds=60');
}

async function events(id: string): Promise<readonly Event[]> {
  const answer = await call(url(`/${id}/events?limit=500`), { headers: { accept: 'application/json' } });
  return answer.body['events'] as Event[];
}

const typesAfter = async (id: string, type: string): Promise<string[]> => {
  const types = (await events(id)).map(({ event_type }) => event_type);
  return types.slice(types.lastIndexOf(type) + 1);
};

const calls = async (id: string, type: string): Promise<Body[]> =>
  (await events(id)).filter(({ event_type }) => event_type === type).map(({ payload }) => payload);

const approve = (id: string): Body => ({ tool_call_id: id, approved: true });

/** Ends the only runtime as a power cut would, and starts another. */
async function replaceRuntime(): Promise<void> {
  await installation.runtimes.pop()!.end('SIGKILL');
  await installation.addRuntime();
}

describe('the supervised analyst', () => {
  it('makes what is approved as it was approved, leaves out what is denied, and says so', async () => {
    const id = await submit({ agent_id: 'supervised-analyst', input: TEXT });
    const pending = await asked(id);
    expect(pending).toMatchObject(
      ['summarise', 'score_sentiment', 'extract_key_phrases'].map((tool_name, index) => ({
        tool_call_id: `call_1_${index + 1}`,
        kind: 'tool_confirmation',
        tool_name,
        arguments: {},
      })),
    );
    const task = await answered(id, {
      decisions: [
        approve('call_1_1'),
        { tool_call_id: 'call_1_2', approved: false, reason: 'feelings are private' },
        { ...approve('call_1_3'), edited_args: { text: 'Blue trams run to the old harbour.' } },
      ],
    });
    const result = task['result'] as { text: string; data: Body; metadata: Body };
    expect(task).toMatchObject({ state: 'succeeded', run_no: 2 });
    expect(result.text).toMatch(/^Summary: The tram was late again/);
    expect(result.text).toContain('Score sentiment was not allowed: feelings are private');
    expect(Object.keys(result.data).sort()).toEqual(['key_phrases', 'language', 'summary']);
    expect(JSON.stringify(result.data['key_phrases'])).toContain('harbour');
    expect(result.metadata).toMatchObject({ model: 'local', not_collected: ['score_sentiment'] });
    const made = await calls(id, 'tool.invoked');
    expect(made.map(({ tool_call_id, arguments: args }) => [tool_call_id, args])).toEqual([
      ['call_1_1', {}],
      ['call_1_3', { text: 'Blue trams run to the old harbour.' }],
    ]);
  });

  it('answers like the analyst when everything is approved, and refuses arguments its tools do not take', async () => {
    const id = await submit({ agent_id: 'supervised-analyst', input: { text: TEXT } });
    const pending = await asked(id);
    const wrong = await resume(id, { decisions: [{ ...approve('call_1_1'), edited_args: { text: 7 } }] });
    expect([wrong.status, wrong.body['code']]).toEqual([400, 'invalid_edited_args']);
    const task = await answered(id, { decisions: pending.map(({ tool_call_id }) => approve(tool_call_id)) });
    const plain = await submit({ agent_id: 'text-analyst', input: { text: TEXT } });
    const { result } = await read(plain, '/wait?timeout_seconds=60');
    expect((task['result'] as Body)['data']).toEqual((result as Body)['data']);
  });

  it('reads input alone as the reason for denying everything', async () => {
    const id = await submit({ agent_id: 'supervised-analyst', input: TEXT });
    const pending = await asked(id);
    const task = await answered(id, { input: 'not today' });
    expect(task).toMatchObject({ state: 'succeeded', result: { data: {} } });
    expect((task['result'] as Body)['text']).toBe(
      ['Summarise', 'Score sentiment', 'Extract key phrases']
        .map((name) => `${name} was not allowed: not today`)
        .join('\n'),
    );
    expect(await typesAfter(id, 'task.resumed')).toEqual([
      ...['tool.denied', 'tool.denied', 'tool.denied'],
      ...['task.started', 'message.completed', 'task.succeeded'],
    ]);
    const denial = { code: 'denied_by_user', reason: 'not today', denied_by: 'admin' };
    expect(await calls(id, 'tool.denied')).toEqual(
      pending.map(({ tool_call_id, tool_name, digest }) => ({ tool_call_id, tool_name, digest, ...denial })),
    );
  });

  it('goes on after its runtime was killed while it waited', async () => {
    const id = await submit({ agent_id: 'supervised-analyst', input: TEXT });
    await asked(id);
    await replaceRuntime();
    const task = await answered(id, { decisions: [approve('call_1_1')] });
    expect(task).toMatchObject({ state: 'succeeded', run_no: 2, result: { data: { language: 'en' } } });
    expect(await typesAfter(id, 'task.resumed')).toEqual([
      ...['tool.denied', 'tool.denied'],
      'task.started',
      ...PER_CALL,
      'message.completed',
      'task.succeeded',
    ]);
  });

  it('reports an approved call as unknown when its runtime was killed, and repeats it since that is harmless', async () => {
    const input = `${TEXT} `.repeat(9_000);
    const id = await submit({ agent_id: 'supervised-analyst', input });
    await asked(id);
    await resume(id, { decisions: [approve('call_1_1')] });
    await until(async () => (await calls(id, 'tool.invoked')).length > 0, { timeoutMs: 30_000, what: 'the call' });
    await replaceRuntime();
    const isOver = async (): Promise<Body | false> => {
      const task = await read(id);
      return task['finished_at'] !== null && task;
    };
    const task = (await until(isOver, { timeoutMs: 60_000, what: 'the end of the task' })) as Body;
    expect(task).toMatchObject({ state: 'succeeded', run_no: 3 });
    expect(await typesAfter(id, 'task.retrying')).toEqual([
      'tool.failed',
      ...PER_CALL,
      'message.completed',
      'task.succeeded',
    ]);
    expect(await calls(id, 'tool.failed')).toMatchObject([
      { tool_call_id: 'call_1_1', error: { code: 'outcome_unknown' } },
    ]);
    expect(await calls(id, 'tool.invoked')).toMatchObject([
      { tool_call_id: 'call_1_1', approved_by: 'admin', approval: expect.stringMatching(/\/call_1_1$/) },
      { tool_call_id: 'call_3_1', approved_by: 'admin', repeats: 'call_1_1' },
    ]);
    expect((await calls(id, 'tool.denied')).map(({ code }) => code)).toEqual(['denied_by_user', 'denied_by_user']);
  });
});

describe('the supervised builder', () => {
  it('shows its plan, plans anew what is asked for instead, and builds what is approved', async () => {
    const id = await submit({
      agent_id: 'supervised-builder',
      input: { request: 'a todo list with title and done checkbox' },
    });
    const [first] = await asked(id);
    expect(first).toMatchObject({ tool_call_id: 'ask_1_1', kind: 'question', arguments: { title: 'Todo list' } });
    expect(first!.prompt).toContain('Todo list\nFields: Title, Done');

    const second = await answered(id, { input: 'an address book with name, phone' });
    expect(second).toMatchObject({
      state: 'waiting_for_input',
      run_no: 2,
      pending_confirms: [{ tool_call_id: 'ask_2_1', kind: 'question', arguments: { title: 'Address book' } }],
    });
    const unclear = await resume(id, { input: 'yes' });
    expect([unclear.status, unclear.body['code']]).toEqual([400, 'wait_id_required']);
    expect(await read(id, '/artifacts')).toMatchObject({ artifacts: [] });

    const task = await answered(id, { wait_id: second['wait_id'], decisions: [approve('ask_2_1')] });
    expect(task).toMatchObject({
      state: 'succeeded',
      run_no: 3,
      result: { data: { title: 'Address book', entry: 'index.html', tests: { failed: 0 } } },
    });
    const { artifacts } = await read(id, '/artifacts');
    expect((artifacts as Body[]).map(({ name }) => name)).toContain('address-book.zip');
    const { steps } = await read(id, '/steps');
    expect((steps as Body[]).map((step) => [step['step_id'], step['state']])).toEqual(
      ['plan', 'review', 'review.2', 'plan.2', 'review.2.2', 'review.3', 'write.3', 'test.3', 'package.3'].map(
        (step) => [step, 'completed'],
      ),
    );
  });

  it('builds the plan that was shown after its runtime was killed while it waited', async () => {
    const id = await submit({ agent_id: 'supervised-builder', input: 'a todo list with title' });
    await asked(id);
    await replaceRuntime();
    const task = await answered(id, { decisions: [approve('ask_1_1')] });
    expect(task).toMatchObject({ state: 'succeeded', run_no: 2, result: { data: { title: 'Todo list' } } });
  });
});

describe('a runner that calls without asking', () => {
  const text = (words: string): Body => ({ text: words });
  const use = (name: string, args: Body, id: string): Body => ({ tool: { name, args, id } });

  it('is denied what nobody approved, whatever it was approved otherwise, and what its agent denies', async () => {
    const declaration = {
      description: 'Plays a script.',
      tools: ['summarise', 'score_sentiment'],
      policy: { tools: { summarise: 'confirm', score_sentiment: 'deny' } },
      input_modes: ['data'],
      routes: [{ backends: [{ runner: 'scripted' }] }],
    };
    const put = await call(`${installation.gateways[0]!.url}/v1/agents/eager`, { method: 'PUT', body: declaration });
    expect(put.status).toBeLessThan(300);
    const pause = [
      { tool_call_id: 'c3', kind: 'tool_confirmation', tool_name: 'summarise', arguments: text('Shown.') },
      { tool_call_id: 'c4', kind: 'tool_confirmation', tool_name: 'summarise', arguments: text('Denied.') },
    ];
    const script = [
      use('summarise', text('Early.'), 'c1'),
      use('score_sentiment', text('Good.'), 'c2'),
      { pause },
      use('summarise', text('Changed.'), 'c3'),
      use('summarise', text('Denied.'), 'c4'),
      use('summarise', text('Shown.'), 'c5'),
      use('summarise', text('Shown.'), 'c6'),
      { result: 'done' },
    ];
    const submitted = async (): Promise<string> => submit({ agent_id: 'eager', input: { script } });
    const id = await until(async () => submitted().catch(() => undefined), {
      timeoutMs: 20_000,
      what: 'the new agent',
    });
    await asked(id);
    await answered(id, { decisions: [approve('c3')] });
    expect((await calls(id, 'tool.denied')).map(({ tool_call_id, code }) => [tool_call_id, code])).toEqual([
      ['c1', 'not_approved'],
      ['c2', 'denied_by_policy'],
      ['c4', 'denied_by_user'],
      ['c3', 'changed'],
      ['c4', 'not_approved'],
      ['c6', 'approval_used'],
    ]);
    expect(await calls(id, 'tool.completed')).toMatchObject([{ tool_call_id: 'c5', output: { summary: 'Shown.' } }]);
  });
});

describe('a tool of the caller', () => {
  const tools = [
    {
      name: 'look_up_order',
      description: 'Finds an order.',
      parameters: { type: 'object', properties: { order: { type: 'integer' } }, required: ['order'] },
    },
  ];

  it.each([
    ['its output', { output: { state: 'sent' } }, 'State: sent', 'tool.completed'],
    ['its error', { error: 'no such order' }, 'Look up order failed: no such order', 'tool.failed'],
  ])('is called by pausing, and %s reaches the answer', async (_what, result, text, type) => {
    const input = 'Please look_up_order {"order": 7} for me.';
    const id = await submit({ agent_id: 'text-analyst', input, tools });
    expect(await asked(id)).toMatchObject([
      { tool_call_id: expect.any(String), kind: 'client_tool', tool_name: 'look_up_order', arguments: { order: 7 } },
    ]);
    const [{ tool_call_id }] = (await asked(id)) as [Pending];
    const task = await answered(id, { results: [{ tool_call_id, ...result }] });
    expect((task['result'] as Body)['text']).toContain(text);
    expect((await typesAfter(id, 'task.resumed')).slice(0, 2)).toEqual(['task.started', type]);
  });
});
