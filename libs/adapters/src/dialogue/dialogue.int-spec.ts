import { afterEach, describe, expect, it } from '@jest/globals';
import type { Budgets, Detail, TaskKey } from '#lib/domain';
import { BUILTIN_TOOLS } from '#lib/tools';
import { FakeModelEndpoint, type Reply } from '../../../../test/support/fake-model-endpoint.js';
import { until } from '../../../../test/support/until.js';
import type { RunContext, RunnerItem, ToolClient, ToolDescription } from '../contract/index.js';
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

function tool(name: string, idempotent = true): ToolDescription {
  return { name, description: name, parameters: { type: 'object' }, idempotent };
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
      (args: unknown) => execute(args as Record<string, unknown>, { input, signal }),
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
    workspace: '/nowhere',
    budgets: given.budgets ?? {},
    ...(given.checkpoint === undefined ? {} : { checkpoint: given.checkpoint }),
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
