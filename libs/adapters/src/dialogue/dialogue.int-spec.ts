import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Budgets, Detail, TaskKey } from '#lib/domain';
import { BUILTIN_TOOLS } from '#lib/tools';
import { FakeModelEndpoint, type Reply } from '../../../../test/support/fake-model-endpoint.js';
import { until } from '../../../../test/support/until.js';
import type { RunContext, RunnerAnswer, RunnerItem, ToolClient, ToolDescription } from '../contract/index.js';
import { ToolError } from '../contract/index.js';
import { createDialogueAdapter } from './index.js';

const ANALYST = {
  instructions: 'Call summarise, score_sentiment and extract_key_phrases, then say what you found.',
  collect: ['summarise', 'score_sentiment', 'extract_key_phrases'],
};
const TEXT = 'The tram was late again. The driver was friendly, but nobody explained the delay. Passengers are angry.';

type Implementations = Readonly<Record<string, (args: unknown, id: string) => unknown>>;
const endpoints: FakeModelEndpoint[] = [];

afterEach(async () => {
  await Promise.all(endpoints.splice(0).map((endpoint) => endpoint.stop()));
});

function tool(name: string, idempotent = true, policy: 'allow' | 'confirm' = 'allow'): ToolDescription {
  return { name, description: name, parameters: { type: 'object' }, idempotent, policy };
}

function toolClient(list: readonly ToolDescription[], implementations: Implementations): ToolClient {
  return {
    list,
    call: async (name, args, id) => {
      const implementation = implementations[name];
      if (!implementation) throw new ToolError('invalid_arguments', `There is no tool ${name}.`);
      return await implementation(args, id);
    },
  };
}

/** The bundled text tools, as the platform offers them to a run with this input. */
function builtinTools(input: unknown): ToolClient {
  const signal = new AbortController().signal;
  const implementations = Object.fromEntries(
    Array.from(BUILTIN_TOOLS.values(), ({ name, execute }) => [
      name,
      (args: unknown, toolCallId: string) =>
        execute(args as Record<string, unknown>, {
          input,
          signal,
          toolCallId,
          tenant: 't',
          taskId: 'task',
          idempotencyKey: `key.${toolCallId}`,
        }),
    ]),
  );
  return toolClient([...BUILTIN_TOOLS.values()], implementations);
}

interface Given {
  readonly input?: unknown;
  readonly options?: Record<string, unknown>;
  readonly tools?: ToolClient;
  readonly detail?: Detail;
  readonly budgets?: Budgets;
  readonly runNo?: number;
  readonly checkpoint?: unknown;
  readonly sessionId?: string;
  readonly conversation?: unknown;
  readonly clientTools?: readonly ToolDescription[];
  readonly answer?: RunnerAnswer;
}

function contextOf(given: Given): RunContext {
  const input = given.input ?? TEXT;
  return {
    taskKey: 'key' as TaskKey,
    taskId: 'task',
    runNo: given.runNo ?? 1,
    tenant: 'default',
    agentId: 'text-analyst',
    input,
    context: {},
    attributes: { secret: 'never-shown' },
    options: given.options ?? {},
    detail: given.detail ?? 'verbose',
    tools: given.tools ?? toolClient([], {}),
    taskToken: () => Promise.reject(new Error('no tokens')),
    files: [],
    clientTools: given.clientTools ?? [],
    workspace: '/nowhere',
    budgets: given.budgets ?? {},
    ...(given.checkpoint === undefined ? {} : { checkpoint: given.checkpoint }),
    ...(given.sessionId === undefined ? {} : { sessionId: given.sessionId }),
    ...(given.conversation === undefined ? {} : { conversation: given.conversation }),
    ...(given.answer === undefined ? {} : { answer: given.answer }),
  };
}

async function endpointWith(...script: Reply[]): Promise<FakeModelEndpoint> {
  const endpoint = await FakeModelEndpoint.start(script);
  endpoints.push(endpoint);
  return endpoint;
}

function adapterFor(endpoint?: FakeModelEndpoint | string): ReturnType<typeof createDialogueAdapter> {
  const baseUrl = typeof endpoint === 'string' ? endpoint : endpoint?.baseUrl;
  const model = baseUrl === undefined ? undefined : { baseUrl, apiKey: 'sk-test', name: 'fake-1' };
  return createDialogueAdapter({ databaseUrl: '', executeModelCode: false, ...(model ? { model } : {}) });
}

async function run(
  endpoint: FakeModelEndpoint | string | undefined,
  given: Given,
  signal = new AbortController().signal,
): Promise<{ items: RunnerItem[]; failure: unknown }> {
  const items: RunnerItem[] = [];
  try {
    for await (const item of adapterFor(endpoint).start(contextOf(given), signal)) {
      items.push(JSON.parse(JSON.stringify(item)) as RunnerItem);
    }
    return { items, failure: undefined };
  } catch (failure) {
    return { items, failure };
  }
}

function eventsOf(items: readonly RunnerItem[]): string[] {
  return items.flatMap((item) => (item.kind === 'event' ? [item.type] : []));
}

function resultOf(items: readonly RunnerItem[]): Extract<RunnerItem, { kind: 'result' }> {
  const last = items.at(-1);
  if (last?.kind !== 'result') throw new Error(`the run ended with ${JSON.stringify(last)}`);
  return last;
}

function checkpointsOf(items: readonly RunnerItem[]): unknown[] {
  return items.flatMap((item) => (item.kind === 'checkpoint' ? [item.data] : []));
}

const CALL_ADD: Reply = { toolCalls: [{ id: 'c', name: 'add', arguments: '{"a":1,"b":2}' }] };

describe('dialogue with the local model', () => {
  it('analyses a text offline and says that its model is local', async () => {
    const { items } = await run(undefined, { options: ANALYST, tools: builtinTools(TEXT), detail: 'status' });
    const { result, messageId } = resultOf(items);
    expect(result.metadata['model']).toBe('local');
    expect(result.data).toMatchObject({
      language: 'en',
      summary: expect.stringContaining('tram'),
      sentiment: { label: 'negative', score: expect.any(Number) },
      key_phrases: expect.arrayContaining([{ text: expect.any(String), weight: 1 }]),
    });
    expect(Object.keys(result.data as object).sort()).toEqual(['key_phrases', 'language', 'sentiment', 'summary']);
    expect(result.text).toMatch(/^Summary: /);
    expect(messageId).toBeUndefined();
    const perCall = ['step.started', 'tool.invoked', 'tool.completed', 'step.completed'];
    expect(eventsOf(items)).toEqual([...perCall, ...perCall, ...perCall]);
  });

  it('answers the same twice and streams its answer as one message', async () => {
    const given = { options: ANALYST, tools: builtinTools(TEXT), detail: 'full' as const };
    const first = await run(undefined, given);
    expect(await run(undefined, given)).toEqual(first);
    const { result, messageId } = resultOf(first.items);
    const deltas = first.items.flatMap((item) =>
      item.kind === 'event' && item.type === 'message.delta' ? [item.payload] : [],
    );
    expect(deltas.map(({ text }) => text).join('')).toBe(result.text);
    expect(new Set(deltas.map(({ message_id }) => message_id))).toEqual(new Set([messageId]));
    expect(eventsOf(first.items)).not.toContain('message.completed');
  });

  it('takes a mebibyte without carrying it in prompts, arguments or checkpoints', async () => {
    const input = { text: `${TEXT} `.repeat(10_000) };
    const { items } = await run(undefined, { input, options: ANALYST, tools: builtinTools(input) });
    expect(resultOf(items).result.metadata['trimmed_characters']).toBeGreaterThan(1_000_000);
    for (const item of items) expect(JSON.stringify(item).length).toBeLessThan(16_000);
  });

  it('calls a tool the user names with the arguments that follow the name, and reads its failure', async () => {
    const tools = toolClient([tool('add'), tool('rest')], {
      add: () => {
        throw new ToolError('failed', 'out of numbers');
      },
    });
    const { items } = await run(undefined, { input: 'Please add {"a": {"b": 1}} now', tools });
    expect(items).toContainEqual(
      expect.objectContaining({
        type: 'tool.invoked',
        payload: expect.objectContaining({ arguments: { a: { b: 1 } } }),
      }),
    );
    expect(eventsOf(items)).toEqual(expect.arrayContaining(['tool.failed', 'step.failed']));
    expect(resultOf(items).result.text).toBe('Add failed: out of numbers');
  });

  it('says what it can when there is nothing to call', async () => {
    const { items } = await run(undefined, { input: 'Hello' });
    expect(resultOf(items).result.text).toContain('No model is configured');
  });
});

describe('dialogue with an OpenAI-compatible endpoint', () => {
  it('streams text, thinking, arguments and usage, makes the tool call and answers with its name', async () => {
    const endpoint = await endpointWith(
      { ...CALL_ADD, text: ['Let me ', 'add.'], usage: { prompt_tokens: 10, completion_tokens: 5 } },
      { reasoning: ['1+2', '=3'], text: ['It is ', '3.'], usage: { prompt_tokens: 20, completion_tokens: 7 } },
    );
    const tools = toolClient([tool('add')], { add: (args) => ({ sum: 3, args }) });
    const { items } = await run(endpoint, { options: { instructions: 'Be exact.' }, tools });
    expect(eventsOf(items).filter((type) => type !== 'agent.event')).toEqual([
      'message.started',
      'message.delta',
      'message.delta',
      'tool.arguments.delta',
      'tool.arguments.delta',
      'step.started',
      'tool.invoked',
      'tool.completed',
      'step.completed',
      'model.usage',
      'message.completed',
      'thinking.started',
      'thinking.delta',
      'thinking.delta',
      'thinking.completed',
      'message.started',
      'message.delta',
      'message.delta',
      'model.usage',
    ]);
    expect(resultOf(items)).toMatchObject({
      result: { text: 'It is 3.', metadata: { model: 'fake-1', model_calls: 2 } },
      usage: { input_tokens: 30, output_tokens: 12 },
    });
    expect(endpoint.authorizations).toEqual(['Bearer sk-test', 'Bearer sk-test']);
    expect(endpoint.requests[0]).toMatchObject({
      model: 'fake-1',
      stream: true,
      messages: [
        { role: 'system', content: 'Be exact.' },
        { role: 'user', content: TEXT },
      ],
      tools: [{ type: 'function', function: { name: 'add' } }],
    });
    expect(endpoint.requests[1]).toMatchObject({
      messages: expect.arrayContaining([
        expect.objectContaining({ role: 'tool', tool_call_id: 'c', content: expect.stringContaining('"sum":3') }),
      ]),
    });
    expect(JSON.stringify(endpoint.requests)).not.toContain('never-shown');
  });

  it('announces a call and waits for the reader before it makes it', async () => {
    const endpoint = await endpointWith(CALL_ADD, { text: ['done'] });
    let called = false;
    let calledEarly = false;
    const tools = toolClient([tool('add')], { add: () => (called = true) });
    const stream = adapterFor(endpoint).start(contextOf({ tools, detail: 'status' }), new AbortController().signal);
    for await (const item of stream) {
      if (item.kind !== 'event' || item.type !== 'tool.invoked') continue;
      await new Promise((resolve) => setImmediate(resolve));
      calledEarly = called;
    }
    expect([calledEarly, called]).toEqual([false, true]);
  });

  it('names calls apart although the endpoint gives every call the same id', async () => {
    const endpoint = await endpointWith(CALL_ADD, CALL_ADD, { text: ['done'] });
    const ids: string[] = [];
    const tools = toolClient([tool('add')], { add: (_args, id) => ids.push(id) });
    const { items } = await run(endpoint, { tools, detail: 'status' });
    expect(ids).toEqual(['call_1_1', 'call_1_2']);
    expect(resultOf(items).result.text).toBe('done');
  });

  it('makes calls of one turn and tells each of them whole', async () => {
    const endpoint = await endpointWith(
      { toolCalls: ['x', 'y'].map((name) => ({ id: name, name, arguments: '{}' })) },
      { text: ['done'] },
    );
    const tools = toolClient([tool('x'), tool('y')], { x: () => 1, y: () => 2 });
    const { items } = await run(endpoint, { tools, detail: 'status' });
    for (const name of ['x', 'y']) {
      const told = items.filter((item) => item.kind === 'event' && JSON.stringify(item.payload).includes(`"${name}"`));
      expect(eventsOf(told)).toEqual(['step.started', 'tool.invoked', 'tool.completed', 'step.completed']);
    }
    expect(resultOf(items).result.text).toBe('done');
  });

  it.each([
    ['an unknown tool', { id: 'c', name: 'nonsense', arguments: '{}' }],
    ['arguments that are no JSON', { id: 'c', name: 'add', arguments: '{"a":' }],
  ])('tells a call of %s as failed and lets the model go on', async (_what, call) => {
    const endpoint = await endpointWith({ toolCalls: [call] }, { text: ['sorry'] });
    const { items } = await run(endpoint, { tools: toolClient([tool('add')], { add: () => 3 }), detail: 'status' });
    expect(eventsOf(items)).toEqual(['step.started', 'tool.invoked', 'tool.failed', 'step.failed']);
    expect(resultOf(items).result.text).toBe('sorry');
  });

  it('leaves the telling of a denial to the platform', async () => {
    const endpoint = await endpointWith(CALL_ADD, { text: ['not allowed'] });
    const tools = toolClient([tool('add')], {
      add: () => {
        throw new ToolError('denied', 'Permission denied by user');
      },
    });
    const { items } = await run(endpoint, { tools, detail: 'status' });
    expect(eventsOf(items)).toEqual(['step.started', 'tool.invoked', 'step.failed']);
    expect(JSON.stringify(endpoint.requests[1])).toContain('Permission denied by user');
  });

  it('fills the promised data when the model called nothing', async () => {
    const endpoint = await endpointWith({ text: ['A grumpy text about trams.'] });
    const { items } = await run(endpoint, { options: ANALYST, tools: builtinTools(TEXT) });
    expect(resultOf(items).result).toMatchObject({
      text: 'A grumpy text about trams.',
      data: { language: 'en', sentiment: { label: 'negative' } },
      metadata: { model: 'fake-1' },
    });
  });

  it('shows a long input in part and says so', async () => {
    const endpoint = await endpointWith({ text: ['ok'] });
    const { items } = await run(endpoint, { input: 'x'.repeat(5000), options: { input_limit: 1000 } });
    expect(resultOf(items).result.metadata['trimmed_characters']).toBe(4000);
    expect(JSON.stringify(endpoint.requests[0])).toContain('5000 characters in all');
  });
});

describe('dialogue when things go wrong', () => {
  it.each([
    ['401', { status: 401, body: '{"error":{"message":"bad key sk-test"}}' }, 'rejected'],
    ['400', { status: 400 }, 'rejected'],
    ['429', { status: 429 }, 'unavailable'],
    ['500', { status: 500, body: 'oops' }, 'unavailable'],
    ['408', { status: 408 }, 'timeout'],
    ['garbage', { raw: 'data: {"choices": nonsense\n\n' }, 'protocol'],
    ['another shape', { raw: 'data: {"hello":"world"}\n\ndata: [DONE]\n\n' }, 'protocol'],
    ['an empty answer', { raw: '' }, 'protocol'],
    ['an answer that breaks off', { text: ['It is'], finishReason: null }, 'protocol'],
    ['a cut connection', { text: ['It is'], end: 'cut' }, 'unavailable'],
    ['an error inside the stream', { raw: 'data: {"error":{"message":"overloaded"}}\n\n' }, 'unavailable'],
    ['a filtered answer', { text: [], finishReason: 'content_filter' }, 'rejected'],
  ] as const)('maps %s and repeats nothing the endpoint said', async (_what, reply, kind) => {
    const endpoint = await endpointWith(reply);
    const { failure } = await run(endpoint, {});
    expect(failure).toMatchObject({ name: 'AdapterError', kind, details: { effects: 'none' } });
    expect((failure as Error).message).not.toMatch(/sk-test|oops|overloaded/);
    expect(endpoint.requests).toHaveLength(1);
  });

  it('maps an endpoint that is not there', async () => {
    const gone = await FakeModelEndpoint.start([]);
    const { baseUrl } = gone;
    await gone.stop();
    const { failure } = await run(baseUrl, {});
    expect(failure).toMatchObject({ kind: 'unavailable', details: { effects: 'none' } });
  });

  it('gives up on a silent model and frees the connection', async () => {
    const endpoint = await endpointWith({ text: ['It'], end: 'hang' });
    const { failure } = await run(endpoint, { options: { idle_seconds: 0.1 } });
    expect(failure).toMatchObject({ kind: 'timeout' });
    await until(() => endpoint.openRequests === 0);
  });

  it('does not count the time of a tool as silence', async () => {
    const endpoint = await endpointWith(CALL_ADD, { text: ['done'] });
    let finish = (): void => undefined;
    const tools = toolClient([tool('add')], {
      add: () => new Promise<number>((resolve) => (finish = () => resolve(3))),
    });
    setTimeout(() => finish(), 400);
    const { items } = await run(endpoint, { tools, options: { idle_seconds: 0.2 } });
    expect(resultOf(items).result.text).toBe('done');
  });

  it('ends at once when aborted in the middle of an answer, and frees the connection', async () => {
    const endpoint = await endpointWith({ text: ['It'], end: 'hang' });
    const abort = new AbortController();
    const ended = run(endpoint, {}, abort.signal);
    await until(() => endpoint.openRequests === 1);
    abort.abort();
    expect((await ended).failure).toMatchObject({ kind: 'cancelled', details: { effects: 'none' } });
    await until(() => endpoint.openRequests === 0);
  });

  it('ends at once when aborted during a tool that does not listen, and says that it may have had effects', async () => {
    const endpoint = await endpointWith(CALL_ADD);
    const abort = new AbortController();
    const tools = toolClient([tool('add', false)], {
      add: () => {
        abort.abort();
        return new Promise(() => undefined);
      },
    });
    const { items, failure } = await run(endpoint, { tools, detail: 'status' }, abort.signal);
    expect(failure).toMatchObject({ kind: 'cancelled', details: { effects: 'possible', phase: 'observe' } });
    expect(eventsOf(items)).toEqual(['step.started', 'tool.invoked']);
  });

  it('starts nothing when it was aborted before', async () => {
    const endpoint = await endpointWith({ text: ['never'] });
    const { items, failure } = await run(endpoint, {}, AbortSignal.abort());
    expect(items).toEqual([]);
    expect(failure).toMatchObject({ kind: 'cancelled' });
    expect(endpoint.requests).toEqual([]);
  });

  it('stops the model when its reader leaves', async () => {
    const endpoint = await endpointWith({ text: ['It'], end: 'hang' });
    for await (const item of adapterFor(endpoint).start(contextOf({}), new AbortController().signal)) {
      if (item.kind === 'event' && item.type === 'message.delta') break;
    }
    await until(() => endpoint.openRequests === 0);
    expect(endpoint.requests).toHaveLength(1);
  });

  it.each([
    ['model calls', { modelCalls: 2 }],
    ['tool calls', { toolCalls: 1 }],
    ['tokens', { tokens: 100 }],
  ])('ends as over budget when the %s are used up', async (_what, budgets) => {
    const endpoint = await endpointWith({ ...CALL_ADD, usage: { prompt_tokens: 90, completion_tokens: 60 } });
    const { failure } = await run(endpoint, { tools: toolClient([tool('add')], { add: () => 3 }), budgets });
    expect(failure).toMatchObject({ name: 'BudgetError' });
    expect(endpoint.requests.length).toBeLessThanOrEqual(2);
  });

  it('ends the run when the platform itself fails a call', async () => {
    const endpoint = await endpointWith(CALL_ADD);
    const tools = toolClient([tool('add')], {
      add: () => {
        throw Object.assign(new Error('fenced'), { code: 'fenced' });
      },
    });
    const { failure } = await run(endpoint, { tools });
    expect(failure).toMatchObject({ name: 'AdapterError' });
    expect(endpoint.requests).toHaveLength(1);
  });
});

describe('dialogue after a lost run', () => {
  async function lostAt(type: string, idempotent: boolean): Promise<unknown> {
    const endpoint = await endpointWith(CALL_ADD, { text: ['done'] });
    const tools = toolClient([tool('add', idempotent)], { add: () => 3 });
    const items: RunnerItem[] = [];
    let seen = false;
    for await (const item of adapterFor(endpoint).start(contextOf({ tools }), new AbortController().signal)) {
      items.push(JSON.parse(JSON.stringify(item)) as RunnerItem);
      seen ||= item.kind === 'event' && item.type === type;
      if (seen && item.kind === 'checkpoint') break;
    }
    return checkpointsOf(items).at(-1);
  }

  it('goes on after a finished call without making it again', async () => {
    const checkpoint = await lostAt('tool.completed', false);
    const endpoint = await endpointWith({ text: ['It is 3.'] });
    const tools = toolClient([tool('add', false)], {});
    const { items } = await run(endpoint, { tools, checkpoint, runNo: 2, detail: 'status' });
    expect(eventsOf(items)).toEqual([]);
    expect(resultOf(items).result.text).toBe('It is 3.');
    expect(endpoint.requests[0]).toMatchObject({
      messages: [{ role: 'user' }, { role: 'assistant' }, { role: 'tool', tool_call_id: 'c', content: '3' }],
    });
  });

  it('reports an open call as unknown and repeats it only when that is harmless', async () => {
    const checkpoint = await lostAt('tool.invoked', true);
    const endpoint = await endpointWith({ text: ['It is 4.'] });
    const tools = toolClient([tool('add', true)], { add: () => 4 });
    const { items } = await run(endpoint, { tools, checkpoint, runNo: 2, detail: 'status' });
    expect(items[0]).toMatchObject({
      type: 'tool.failed',
      payload: { tool_call_id: 'call_1_1', error: { code: 'outcome_unknown' } },
    });
    expect(eventsOf(items)).toEqual([
      'tool.failed',
      'step.started',
      'tool.invoked',
      'tool.completed',
      'step.completed',
    ]);
    expect(JSON.stringify(endpoint.requests[0])).toContain('"content":"4"');
  });

  it('tells the model that the outcome of a call with effects is unknown', async () => {
    const checkpoint = await lostAt('tool.invoked', false);
    const endpoint = await endpointWith({ text: ['I am not sure.'] });
    const tools = toolClient([tool('add', false)], {});
    const { items } = await run(endpoint, { tools, checkpoint, runNo: 2, detail: 'status' });
    expect(eventsOf(items)).toEqual(['tool.failed']);
    expect(JSON.stringify(endpoint.requests[0])).toContain('it is not known whether it was done');
  });

  it('keeps what it collected before', async () => {
    const first: RunnerItem[] = [];
    const given = { options: ANALYST, tools: builtinTools(TEXT), detail: 'status' as const };
    for await (const item of adapterFor().start(contextOf(given), new AbortController().signal)) {
      first.push(JSON.parse(JSON.stringify(item)) as RunnerItem);
      if (eventsOf(first).filter((type) => type === 'step.completed').length === 2 && item.kind === 'checkpoint') break;
    }
    const { items } = await run(undefined, { ...given, checkpoint: checkpointsOf(first).at(-1), runNo: 2 });
    expect(eventsOf(items).filter((type) => type === 'tool.completed')).toHaveLength(1);
    expect(resultOf(items).result.data).toMatchObject({ summary: expect.any(String), key_phrases: expect.any(Array) });
  });
});

describe('dialogues side by side', () => {
  it('never mix', async () => {
    const inputs = Array.from({ length: 8 }, (_, at) => `Passenger ${at} likes tram number ${at}.`);
    const runs = await Promise.all(
      inputs.map((input) => run(undefined, { input, options: ANALYST, tools: builtinTools(input) })),
    );
    runs.forEach(({ items }, at) => {
      expect(resultOf(items).result.data).toMatchObject({ summary: inputs[at] });
    });
  });
});

describe('dialogue with tools that are to be confirmed', () => {
  const guarded = tool('add', false, 'confirm');
  const CALL_TWO: Reply = {
    text: ['Shall I?'],
    toolCalls: [
      { id: 'c', name: 'add', arguments: '{"a":1}' },
      { id: 'd', name: 'add', arguments: '{"a":2}' },
    ],
  };
  const made: [unknown, string][] = [];
  const tools = toolClient([guarded], {
    add: (args, id) => {
      made.push([args, id]);
      return { made: args };
    },
  });

  beforeEach(() => {
    made.length = 0;
  });

  type Decision = RunnerAnswer['decisions'][number];
  const deciding = (...decisions: Decision[]): RunnerAnswer => ({ decisions, results: [] });
  const yes = (id: string, more: Partial<Decision> = {}): Decision => ({ tool_call_id: id, approved: true, ...more });
  const no = (id: string, reason: string): Decision => ({ tool_call_id: id, approved: false, reason });

  it('stops at their calls, all of a turn together, with the conversation as its checkpoint', async () => {
    const endpoint = await endpointWith(CALL_TWO);
    const { items } = await run(endpoint, { tools, detail: 'full' });
    expect(eventsOf(items)).toEqual(['message.started', 'message.delta', 'message.completed']);
    expect(items.slice(-2)).toMatchObject([
      { kind: 'checkpoint' },
      {
        kind: 'pause',
        confirmations: [
          { tool_call_id: 'call_1_1', kind: 'tool_confirmation', tool_name: 'add', arguments: { a: 1 } },
          { tool_call_id: 'call_1_2', kind: 'tool_confirmation', tool_name: 'add', arguments: { a: 2 } },
        ],
      },
    ]);
    expect(made).toEqual([]);
  });

  it('makes what was approved, with exactly those arguments and under the id that was shown, and tells the model why not', async () => {
    const { items: before } = await run(await endpointWith(CALL_TWO), { tools, detail: 'status' });
    const endpoint = await endpointWith({ text: ['done'] });
    const answer = deciding(no('call_1_1', 'too little'), yes('call_1_2'));
    const { items } = await run(endpoint, { ...pausedWith(before, tools), answer });
    expect(made).toEqual([[{ a: 2 }, 'call_1_2']]);
    expect(eventsOf(items)).toEqual(['step.started', 'tool.invoked', 'tool.completed', 'step.completed']);
    expect(endpoint.requests).toHaveLength(1);
    expect(endpoint.requests[0]).toMatchObject({
      messages: [
        { role: 'user' },
        { role: 'assistant', tool_calls: [{ id: 'c' }, { id: 'd' }] },
        { role: 'tool', tool_call_id: 'd', content: '{"made":{"a":2}}' },
        { role: 'tool', tool_call_id: 'c', content: 'too little' },
      ],
    });
    expect(resultOf(items).result).toMatchObject({ text: 'done', metadata: { model_calls: 2 } });
  });

  it('makes an edited call as it was edited, and shows the model that call', async () => {
    const { items: before } = await run(await endpointWith(CALL_TWO), { tools, detail: 'status' });
    const endpoint = await endpointWith({ text: ['done'] });
    const answer = deciding(yes('call_1_1', { edited_args: { a: 7, b: null } }), no('call_1_2', 'no'));
    const { items } = await run(endpoint, { ...pausedWith(before, tools), answer });
    expect(made).toEqual([[{ a: 7, b: null }, 'call_1_1']]);
    expect(items).toContainEqual(
      expect.objectContaining({
        type: 'tool.invoked',
        payload: expect.objectContaining({ arguments: { a: 7, b: null } }),
      }),
    );
    const [, assistant] = endpoint.requests[0]!['messages'] as { tool_calls: { function: { arguments: string } }[] }[];
    expect(assistant!.tool_calls.map((call) => call.function.arguments)).toEqual(['{"a":7,"b":null}', '{"a":2}']);
  });

  it('denies a call nobody decided on, and anything that is not true', async () => {
    const { items: before } = await run(await endpointWith(CALL_TWO), { tools, detail: 'status' });
    const endpoint = await endpointWith({ text: ['done'] });
    const answer = deciding({ tool_call_id: 'call_1_1', approved: 'true' as unknown as boolean });
    await run(endpoint, { ...pausedWith(before, tools), answer });
    expect(made).toEqual([]);
    expect(endpoint.requests[0]).toMatchObject({
      messages: [{}, {}, { content: 'Permission denied by user' }, { content: 'Permission denied by user' }],
    });
  });

  it('pauses as often as the model asks, though its endpoint names every call alike', async () => {
    const { items: first } = await run(await endpointWith(CALL_ADD), { tools, detail: 'status' });
    const { items: second } = await run(await endpointWith(CALL_ADD), {
      ...pausedWith(first, tools),
      answer: deciding(yes('call_1_1')),
    });
    expect(second.at(-1)).toMatchObject({ kind: 'pause', confirmations: [{ tool_call_id: 'call_2_1' }] });
    const { items: third } = await run(await endpointWith({ text: ['done'] }), {
      ...pausedWith(second, tools, 3),
      answer: deciding(yes('call_2_1', { edited_args: { a: 9 } })),
    });
    expect(made).toEqual([
      [{ a: 1, b: 2 }, 'call_1_1'],
      [{ a: 9 }, 'call_2_1'],
    ]);
    expect(resultOf(third).result).toMatchObject({ text: 'done', metadata: { model_calls: 3 } });
  });

  it('makes the allowed calls of the same turn before it stops', async () => {
    const both = toolClient([guarded, tool('look')], { look: () => 'seen', add: () => 3 });
    const endpoint = await endpointWith({
      toolCalls: [
        { id: 'c', name: 'add', arguments: '{}' },
        { id: 'l', name: 'look', arguments: '{}' },
      ],
    });
    const { items: before } = await run(endpoint, { tools: both, detail: 'status' });
    expect(eventsOf(before)).toEqual(['step.started', 'tool.invoked', 'tool.completed', 'step.completed']);
    const next = await endpointWith({ text: ['done'] });
    await run(next, { ...pausedWith(before, both), answer: deciding(yes('call_1_1')) });
    expect(next.requests[0]).toMatchObject({
      messages: [{}, {}, { tool_call_id: 'l', content: 'seen' }, { tool_call_id: 'c', content: '3' }],
    });
  });

  it('counts the budgets of each run by itself, and what was used in all of them', async () => {
    const usage = { prompt_tokens: 60, completion_tokens: 30 };
    const budgets = { modelCalls: 1, toolCalls: 1, tokens: 100 };
    const { items: before } = await run(await endpointWith({ ...CALL_ADD, usage }), { tools, budgets });
    const endpoint = await endpointWith({ text: ['done'], usage });
    const { items } = await run(endpoint, { ...pausedWith(before, tools), budgets, answer: deciding(yes('call_1_1')) });
    expect(resultOf(items).usage).toEqual({ input_tokens: 120, output_tokens: 60 });
  });

  describe('when the resumed run is lost', () => {
    /** The newest checkpoint when the resumed run was lost at the first event of that type. */
    async function lostAt(type: string, list: ToolClient): Promise<Given> {
      const { items: before } = await run(await endpointWith(CALL_TWO), { tools: list, detail: 'status' });
      const given = { ...pausedWith(before, list), answer: deciding(yes('call_1_1'), no('call_1_2', 'no')) };
      let checkpoint = given.checkpoint;
      let isLost = false;
      const stream = adapterFor(await endpointWith({ text: ['never'] })).start(
        contextOf(given),
        new AbortController().signal,
      );
      for await (const item of stream) {
        isLost ||= item.kind === 'event' && item.type === type;
        if (item.kind !== 'checkpoint') continue;
        checkpoint = JSON.parse(JSON.stringify(item.data)) as unknown;
        if (isLost) break;
      }
      return { ...given, checkpoint, runNo: 3 };
    }

    it('does not make an approved call again that was back', async () => {
      const given = await lostAt('tool.completed', tools);
      const endpoint = await endpointWith({ text: ['done'] });
      const { items } = await run(endpoint, given);
      expect(made).toEqual([[{ a: 1 }, 'call_1_1']]);
      expect(eventsOf(items)).toEqual([]);
      expect(JSON.stringify(endpoint.requests[0])).toContain('{\\"made\\":{\\"a\\":1}}');
      expect(resultOf(items).result.text).toBe('done');
    });

    it('tells the model that the outcome of an approved call that was out is unknown', async () => {
      const given = await lostAt('tool.invoked', tools);
      made.splice(0);
      const endpoint = await endpointWith({ text: ['I do not know.'] });
      const { items } = await run(endpoint, given);
      expect(made).toEqual([]);
      expect(items[0]).toMatchObject({
        type: 'tool.failed',
        payload: { tool_call_id: 'call_1_1', error: { code: 'outcome_unknown' } },
      });
      expect(endpoint.requests[0]).toMatchObject({
        messages: [
          {},
          {},
          { tool_call_id: 'c', content: expect.stringContaining('it is not known whether it was done') },
          { tool_call_id: 'd', content: 'no' },
        ],
      });
    });

    it('makes an approved call that was out once more when that is harmless', async () => {
      const harmless = toolClient([tool('add', true, 'confirm')], { add: (args, id) => made.push([args, id]) });
      const given = await lostAt('tool.invoked', harmless);
      made.splice(0);
      const { items } = await run(await endpointWith({ text: ['done'] }), given);
      expect(made).toEqual([[{ a: 1 }, 'call_3_1']]);
      expect(eventsOf(items)).toEqual([
        'tool.failed',
        'step.started',
        'tool.invoked',
        'tool.completed',
        'step.completed',
      ]);
    });

    it('starts over from the answer when nothing was stored', async () => {
      const { items: before } = await run(await endpointWith(CALL_TWO), { tools, detail: 'status' });
      const given = { ...pausedWith(before, tools, 3), answer: deciding(yes('call_1_1'), no('call_1_2', 'no')) };
      const { items } = await run(await endpointWith({ text: ['done'] }), given);
      expect(made).toEqual([[{ a: 1 }, 'call_1_1']]);
      expect(resultOf(items).result.text).toBe('done');
    });
  });

  it('works offline: the local model goes on with what it got and says what was not allowed', async () => {
    const list = builtinTools(TEXT);
    const supervised = { ...list, list: list.list.map((one) => ({ ...one, policy: 'confirm' as const })) };
    const options = { ...ANALYST, instructions: 'Call summarise, score_sentiment and extract_key_phrases together.' };
    const { items: before } = await run(undefined, { options, tools: supervised, detail: 'status' });
    const pause = before.at(-1);
    expect(pause).toMatchObject({
      confirmations: [
        { tool_name: 'summarise' },
        { tool_name: 'score_sentiment' },
        { tool_name: 'extract_key_phrases' },
      ],
    });
    const answer = deciding(
      yes('call_1_1'),
      no('call_1_2', 'feelings are private'),
      yes('call_1_3', { edited_args: { text: 'Blue trams run to the harbour.' } }),
    );
    const { items } = await run(undefined, { ...pausedWith(before, supervised), options, answer });
    const { result } = resultOf(items);
    expect(result.text).toContain('Score sentiment was not allowed: feelings are private');
    expect(result.text).toMatch(/^Summary: .*tram/);
    expect(result.data).not.toHaveProperty('sentiment');
    expect(result.data).toMatchObject({
      key_phrases: expect.arrayContaining([expect.objectContaining({ text: expect.stringContaining('trams') })]),
    });
    expect(result.metadata).toMatchObject({ model: 'local', not_collected: ['score_sentiment'] });
  });
});

describe('dialogue with tools of the caller', () => {
  const lookUp: ToolDescription = {
    ...tool('look_up'),
    parameters: { type: 'object', required: ['order'], properties: { order: { type: 'integer' } } },
  };
  const CALL: Reply = { toolCalls: [{ id: 'c', name: 'look_up', arguments: '{"order":7}' }] };
  const results = (...list: RunnerAnswer['results']): RunnerAnswer => ({ decisions: [], results: list });

  it('stops at their calls and goes on with what the caller answers', async () => {
    const endpoint = await endpointWith(CALL);
    const { items: before } = await run(endpoint, { clientTools: [lookUp], detail: 'status' });
    expect(endpoint.requests[0]).toMatchObject({
      tools: [{ function: { name: 'look_up', parameters: lookUp.parameters } }],
    });
    expect(eventsOf(before)).toEqual(['tool.invoked']);
    expect(before.at(-1)).toMatchObject({
      kind: 'pause',
      confirmations: [{ tool_call_id: 'call_1_1', kind: 'client_tool', tool_name: 'look_up', arguments: { order: 7 } }],
    });
    const next = await endpointWith({ text: ['It is on its way.'] });
    const answer = results({ tool_call_id: 'call_1_1', output: { state: 'sent' } });
    const { items } = await run(next, { ...pausedWith(before), clientTools: [lookUp], answer });
    expect(items[0]).toMatchObject({
      type: 'tool.completed',
      payload: { tool_call_id: 'call_1_1', tool_name: 'look_up', output: { state: 'sent' } },
    });
    expect(next.requests[0]).toMatchObject({ messages: [{}, {}, { tool_call_id: 'c', content: '{"state":"sent"}' }] });
    expect(resultOf(items).result.text).toBe('It is on its way.');
  });

  it.each([
    ['an error', results({ tool_call_id: 'call_1_1', error: 'no such order' }), 'no such order'],
    ['nothing', results(), 'The caller gave no result.'],
  ])('tells the model of %s', async (_what, answer, message) => {
    const { items: before } = await run(await endpointWith(CALL), { clientTools: [lookUp], detail: 'status' });
    const next = await endpointWith({ text: ['Sorry.'] });
    const { items } = await run(next, { ...pausedWith(before), clientTools: [lookUp], answer });
    expect(items[0]).toMatchObject({ type: 'tool.failed', payload: { error: { code: 'failed', message } } });
    expect(next.requests[0]).toMatchObject({ messages: [{}, {}, { content: message }] });
  });

  it('waits for approvals and results of one turn together', async () => {
    const tools = toolClient([tool('add', true, 'confirm')], { add: () => 3 });
    const { items: before } = await run(
      await endpointWith({ toolCalls: [...CALL.toolCalls!, { id: 'a', name: 'add', arguments: '{}' }] }),
      { tools, clientTools: [lookUp], detail: 'status' },
    );
    expect(before.at(-1)).toMatchObject({ confirmations: [{ kind: 'client_tool' }, { kind: 'tool_confirmation' }] });
    const next = await endpointWith({ text: ['done'] });
    const answer: RunnerAnswer = {
      decisions: [{ tool_call_id: 'call_1_2', approved: true }],
      results: [{ tool_call_id: 'call_1_1', output: 'sent' }],
    };
    await run(next, { ...pausedWith(before, tools), clientTools: [lookUp], answer });
    expect(next.requests[0]).toMatchObject({ messages: [{}, {}, { content: '"sent"' }, { content: '3' }] });
  });

  it('works offline when the request names the tool and its arguments', async () => {
    const given = { input: 'Please look_up {"order": 7} for me', clientTools: [lookUp], detail: 'status' as const };
    const { items: before } = await run(undefined, given);
    expect(before.at(-1)).toMatchObject({ confirmations: [{ kind: 'client_tool', arguments: { order: 7 } }] });
    const answer = results({ tool_call_id: 'call_1_1', output: { state: 'sent' } });
    const { items } = await run(undefined, { ...given, ...pausedWith(before), answer });
    expect(resultOf(items).result.text).toBe('State: sent');
  });
});

describe('a long dialogue', () => {
  it('leaves out its oldest turns, tells so, and keeps what was asked', async () => {
    const endpoint = await endpointWith(CALL_ADD, CALL_ADD, CALL_ADD, { text: ['done'] });
    const tools = toolClient([tool('add')], { add: () => 'x'.repeat(1_000) });
    const { items } = await run(endpoint, { tools, options: { conversation_limit: 2_900 } });
    expect(resultOf(items).result.metadata).toMatchObject({ trimmed_turns: 1 });
    expect(items).toContainEqual(
      expect.objectContaining({
        type: 'agent.event',
        payload: { framework: 'ai-sdk', event: { type: 'conversation-trimmed', turns: 1 } },
      }),
    );
    const last = endpoint.requests.at(-1)!['messages'] as { role: string; content: string }[];
    expect(last.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'tool']);
    expect(last[0]!.content).toBe('The first 1 turns of this conversation are left out.');
    expect(last[1]!.content).toBe(TEXT);
  });
});

/** What the run after a pause is given. */
function pausedWith(items: readonly RunnerItem[], tools?: ToolClient, runNo = 2): Given {
  expect(items.at(-1)?.kind).toBe('pause');
  return { checkpoint: checkpointsOf(items).at(-1), runNo, detail: 'status', ...(tools ? { tools } : {}) };
}

describe('a dialogue in a session', () => {
  const told = (endpoint: FakeModelEndpoint, request: number): unknown => endpoint.requests[request]?.['messages'];
  const ADD = toolClient([tool('add')], { add: () => 3 });

  it('goes on with the conversation of the task before it, calls and results included', async () => {
    const endpoint = await endpointWith(CALL_ADD, { text: ['Three.'] }, { text: ['You asked for a sum.'] });
    const options = { instructions: 'Be brief.' };
    const first = await run(endpoint, { input: 'Add one and two.', sessionId: 's', options, tools: ADD });
    const { conversation } = resultOf(first.items);
    const second = await run(endpoint, { input: 'What did I ask?', sessionId: 's', options, tools: ADD, conversation });
    expect(told(endpoint, 2)).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Add one and two.' },
      expect.objectContaining({
        role: 'assistant',
        tool_calls: [{ id: 'earlier_1', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } }],
      }),
      { role: 'tool', tool_call_id: 'earlier_1', content: '3' },
      { role: 'assistant', content: 'Three.' },
      { role: 'user', content: 'What did I ask?' },
    ]);
    const kept = (resultOf(second.items).conversation as { messages: { role: string }[] }).messages;
    expect(kept.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user', 'assistant']);
  });

  it('makes a call again whose id an earlier task has used', async () => {
    const endpoint = await endpointWith(CALL_ADD, { text: ['Three.'] }, CALL_ADD, { text: ['Three again.'] });
    let made = 0;
    const tools = toolClient([tool('add')], { add: () => (made += 1) });
    const first = await run(endpoint, { input: 'Add.', sessionId: 's', tools });
    const { conversation } = resultOf(first.items);
    const second = await run(endpoint, { input: 'Again.', sessionId: 's', tools, conversation });
    expect([made, resultOf(second.items).result.text]).toEqual([2, 'Three again.']);
    expect(eventsOf(second.items)).toContain('tool.completed');
  });

  it('keeps nothing without a session', async () => {
    const endpoint = await endpointWith({ text: ['Hello.'] });
    const { items } = await run(endpoint, { input: 'Hi.' });
    expect(Object.keys(resultOf(items))).not.toContain('conversation');
  });

  it('leaves out the oldest exchanges over its bound, and says so to the model and in the result', async () => {
    const endpoint = await endpointWith({ text: ['a'.repeat(300)] });
    const options = { conversation_limit: 1_500 };
    let conversation: unknown;
    for (let n = 0; n < 4; n += 1) {
      const { items } = await run(endpoint, { input: `Question ${n}`, sessionId: 's', options, conversation });
      ({ conversation } = resultOf(items));
    }
    const { items } = await run(endpoint, { input: 'The last.', sessionId: 's', options, conversation });
    expect(resultOf(items).result.metadata).toMatchObject({ trimmed_exchanges: 3 });
    expect(told(endpoint, 4)).toEqual([
      { role: 'system', content: 'The first 3 requests of this conversation are left out.' },
      { role: 'user', content: 'Question 3' },
      { role: 'assistant', content: 'a'.repeat(300) },
      { role: 'user', content: 'The last.' },
    ]);
  });

  it('goes on from its checkpoint, with what the session remembers in it', async () => {
    const endpoint = await endpointWith({ text: ['Three.'] }, CALL_ADD, { text: ['Four.'] }, { text: ['Four.'] });
    const first = await run(endpoint, { input: 'First.', sessionId: 's' });
    const { conversation } = resultOf(first.items);
    const second = await run(endpoint, { input: 'Second.', sessionId: 's', tools: ADD, conversation });
    const checkpoint = checkpointsOf(second.items).at(-1);
    await run(endpoint, { input: 'Second.', sessionId: 's', tools: ADD, conversation, checkpoint, runNo: 2 });
    expect(told(endpoint, 3)).toEqual(told(endpoint, 2));
    expect(told(endpoint, 3)).toEqual(expect.arrayContaining([{ role: 'user', content: 'First.' }]));
  });

  it('uses its tools again for each task with the local model', async () => {
    const given = { options: ANALYST, tools: builtinTools(TEXT), sessionId: 's', detail: 'status' } as const;
    const first = resultOf((await run(undefined, given)).items);
    const second = await run(undefined, { ...given, conversation: first.conversation });
    expect(resultOf(second.items).result.text).toBe(first.result.text);
    expect(eventsOf(second.items).filter((type) => type === 'tool.completed')).toHaveLength(3);
  });
});
