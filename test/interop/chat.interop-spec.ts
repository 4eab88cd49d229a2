import path from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SCOPES } from '#lib/domain';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { testRedisUrl } from '../support/redis.js';
import { until } from '../support/until.js';
import { clientOf, helpersOf, Road, VERSIONS } from './chat.clients.js';
import type { Place } from './drivers/driver.js';

const PRINCIPALS = ['ann', 'bob', 'cut', 'keyed', 'twice', 'leaver', 'returner', 'reader'] as const;
type Principal = (typeof PRINCIPALS)[number];

let database: TestDatabase;
let installation: Installation;
let keys: Record<Principal, string>;

beforeAll(async () => {
  database = await createDatabase();
  const scopes = SCOPES.filter((scope) => scope !== 'tasks:all' && scope !== 'platform:admin');
  keys = await createKeys(
    database.url,
    Object.fromEntries(PRINCIPALS.map((principal) => [principal, { principal, scopes }])) as Record<Principal, object>,
  );
  installation = await Installation.start({
    databaseUrl: database.url,
    redisUrl: testRedisUrl(),
    gateways: 2,
    runtimes: 1,
    env: {
      AGENTS_FILE: path.resolve('test/interop/chat.agents.yaml'),
      CHAT_GRACE_SECONDS: '1',
      CHAT_MAX_WAIT_SECONDS: '3',
    },
  });
}, 120_000);

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
});

/** A gateway as somebody reaches it. */
function place(gateway = 0, principal: Principal = 'ann'): Place {
  return { url: installation.gateways[gateway]!.url, key: keys[principal] };
}

const user = (content: string) => ({ role: 'user' as const, content });
const script = (...steps: readonly object[]) => [user(JSON.stringify(steps))];
const said = (id: string, ...texts: readonly string[]): object[] => [
  { event: { type: 'message.started', payload: { message_id: id, role: 'assistant' } } },
  ...texts.map((text) => ({ event: { type: 'message.delta', payload: { message_id: id, text } } })),
];
const complete = (id: string, text: string): object => ({
  event: { type: 'message.completed', payload: { message_id: id, role: 'assistant', text } },
});

/** Tasks of a principal, newest first. */
async function tasksOf(principal: Principal): Promise<Record<string, unknown>[]> {
  const { body } = await call(`${place().url}/v1/tasks`, { key: keys[principal] });
  return body['tasks'] as Record<string, unknown>[];
}

describe.each(VERSIONS)('the official client %s', (version) => {
  const client = (gateway = 0, principal: Principal = 'ann') => clientOf(version, place(gateway, principal));

  it('gets an answer, and finds its request and its task', async () => {
    const { data, response } = await client()
      .chat.completions.create({ model: 'scripted', messages: [user('The trams run again.')] })
      .withResponse();
    const taskId = response.headers.get('x-task-id')!;
    expect(data).toEqual({
      id: `chatcmpl-${taskId}`,
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'scripted',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'The trams run again.', refusal: null },
          finish_reason: 'stop',
          logprobs: null,
        },
      ],
    });
    expect(Math.abs(data.created - Date.now() / 1000)).toBeLessThan(60);
    expect((data as { _request_id?: string })._request_id).toBe(response.headers.get('x-request-id'));
  });

  it('gets the same answer as a stream as without one, whatever it says in between', async () => {
    const messages = script(
      ...said('m1', 'Let ', 'me ', 'see.'),
      complete('m1', 'Let me see.'),
      ...said('m2', 'Found', ' it.'),
      { result: 'Found it.', message_id: 'm2' },
    );
    const whole = await client().chat.completions.create({ model: 'scripted', messages });
    const streamed = await helpersOf(version, client()).stream({ model: 'scripted', messages }).finalChatCompletion();
    expect(whole.choices[0]!.message.content).toBe('Let me see.\n\nFound it.');
    expect(streamed.choices[0]).toMatchObject({
      message: { role: 'assistant', content: 'Let me see.\n\nFound it.' },
      finish_reason: 'stop',
    });
    expect(streamed.choices[0]!.message.tool_calls ?? []).toEqual([]);
  });

  it('lists agents as models, and finds one', async () => {
    const models = await client().models.list();
    expect(models.data.map(({ id }) => id)).toEqual(expect.arrayContaining(['scripted', 'caller', 'told']));
    expect(await client().models.retrieve('scripted')).toMatchObject({ id: 'scripted', object: 'model' });
    await expect(client().models.retrieve('no-such')).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
  });

  it('is told of a failure in mid-stream by an error with its code', async () => {
    const messages = script(...said('m1', 'Half of'), { throw: { kind: 'rejected', effects: 'possible' } });
    const stream = await client().chat.completions.create({ model: 'scripted', messages, stream: true });
    const seen: string[] = [];
    const read = async (): Promise<void> => {
      for await (const chunk of stream) seen.push(chunk.choices[0]?.delta.content ?? '');
    };
    await expect(read()).rejects.toMatchObject({ code: 'agent_failed', type: 'server_error' });
    expect(seen.join('')).toBe('Half of');
    const helper = helpersOf(version, client()).stream({ model: 'scripted', messages });
    await expect(helper.finalChatCompletion()).rejects.toMatchObject({ code: 'agent_failed' });
  });

  it('does not ask again when the agent failed', async () => {
    const road = new Road([place()]);
    const asking = clientOf(version, place(), { maxRetries: 2, fetch: road.fetch });
    const messages = script({ throw: { kind: 'rejected', effects: 'possible' } });
    await expect(asking.chat.completions.create({ model: 'scripted', messages })).rejects.toMatchObject({
      status: 500,
      code: 'agent_failed',
    });
    expect(road.asked).toHaveLength(1);
  });

  it.each([false, true])('calls its own tools until there is an answer (stream: %s)', async (stream) => {
    const asked: unknown[] = [];
    const tool = (name: string, answer: string) => ({
      type: 'function' as const,
      function: {
        name,
        description: 'Of the client.',
        parameters: { type: 'object', properties: { city: { type: 'string' } } },
        parse: JSON.parse,
        function: (args: unknown) => {
          asked.push([name, args]);
          return answer;
        },
      },
    });
    const body = {
      model: 'caller',
      messages: [user('together weather {"city":"Oslo"} and tides {"city":"Bergen"}')],
      tools: [tool('weather', 'rain'), tool('tides', 'low')],
    };
    const helpers = helpersOf(version, client());
    const runner = stream ? helpers.runTools({ ...body, stream: true }) : helpers.runTools(body);
    expect(await runner.finalContent()).toBe('Weather: rain\nTides: low');
    expect(asked).toEqual([
      ['weather', { city: 'Oslo' }],
      ['tides', { city: 'Bergen' }],
    ]);
  });
});

const CALLS = {
  model: 'caller',
  messages: [user('together weather {"city":"Oslo"} and tides {"city":"Bergen"}')],
  tools: ['weather', 'tides'].map((name) => ({ type: 'function' as const, function: { name, description: name } })),
};
type Message = OpenAI.Chat.ChatCompletionMessageParam;

/** The conversation with a result for each of the calls, or some of them. */
function answered(message: OpenAI.Chat.ChatCompletionMessage, outputs: readonly string[]): Message[] {
  const results = outputs.map((content, at) => ({
    role: 'tool' as const,
    tool_call_id: message.tool_calls![at]!.id,
    content,
  }));
  return [...CALLS.messages, message, ...results];
}

describe('calls of a client', () => {
  it('are answered by another gateway, once, and told the same again to who repeats the answer', async () => {
    const asked = await clientOf('6', place(0)).chat.completions.create(CALLS);
    const { message, finish_reason } = asked.choices[0]!;
    expect({ finish_reason, content: message.content }).toEqual({ finish_reason: 'tool_calls', content: null });
    const ids = message.tool_calls!.map(({ id }) => id);
    expect(ids.every((id) => /^call_[\w-]+$/.test(id) && id.length <= 40)).toBe(true);
    const body = { ...CALLS, messages: answered(message, ['rain', 'low']) };
    const both = await Promise.all([0, 1].map((n) => clientOf('6', place(n)).chat.completions.create(body)));
    const again = await clientOf('6', place(0)).chat.completions.create(body);
    expect(both).toEqual([again, again].map((answer) => ({ ...answer })));
    expect(again).toMatchObject({ id: asked.id, choices: [{ message: { content: 'Weather: rain\nTides: low' } }] });
    const { body: task } = await call(`${place().url}/v1/tasks/${asked.id.slice(9)}`, { key: keys.ann });
    expect(task).toMatchObject({ state: 'succeeded', run_no: 2 });
  });

  it('have their arguments whole, however long they are', async () => {
    const args = { text: 'The trams run. '.repeat(2_000) };
    const pause = [{ tool_call_id: 'c1', kind: 'client_tool', tool_name: 'keep', arguments: args }];
    const asked = await clientOf('6', place()).chat.completions.create({
      model: 'scripted',
      messages: script({ pause }),
    });
    const made = asked.choices[0]!.message.tool_calls![0] as OpenAI.Chat.ChatCompletionMessageFunctionToolCall;
    expect(JSON.parse(made.function.arguments)).toEqual(args);
  });

  it('must all be answered', async () => {
    const { choices } = await clientOf('6', place()).chat.completions.create(CALLS);
    const { message } = choices[0]!;
    const partly = clientOf('6', place()).chat.completions.create({ ...CALLS, messages: answered(message, ['rain']) });
    const missing = expect.stringContaining(message.tool_calls![1]!.id) as unknown;
    await expect(partly).rejects.toMatchObject({ status: 400, param: 'messages', message: missing });
    // A client that forgets that it was asked has forgotten half of the task.
    const forgetful = { ...message, tool_calls: message.tool_calls!.slice(0, 1) };
    const body = { ...CALLS, messages: answered(forgetful, ['rain']) };
    await expect(clientOf('6', place()).chat.completions.create(body)).rejects.toMatchObject({
      status: 400,
      param: 'messages',
      message: missing,
    });
    const whole = { ...CALLS, messages: answered(message, ['rain', 'low']) };
    expect((await clientOf('6', place(1)).chat.completions.create(whole)).id).toMatch(/^chatcmpl-/);
  });

  it('that are not of the caller, or of no task, are history of a new task', async () => {
    const asked = await clientOf('6', place()).chat.completions.create(CALLS);
    const { message } = asked.choices[0]!;
    const body = { ...CALLS, messages: answered(message, ['rain', 'low']) };
    const foreign = await clientOf('6', place(1, 'bob')).chat.completions.create(body);
    const invented = JSON.parse(JSON.stringify(body).replaceAll(/call_[\w-]+_/g, 'call_made_up_')) as typeof body;
    const pasted = await clientOf('6', place()).chat.completions.create(invented);
    for (const { id, choices } of [foreign, pasted]) {
      expect(id).not.toBe(asked.id);
      expect(choices[0]).toMatchObject({ message: { content: 'Weather: rain\nTides: low' }, finish_reason: 'stop' });
    }
    const { body: task } = await call(`${place().url}/v1/tasks/${asked.id.slice(9)}`, { key: keys.ann });
    expect(task['state']).toBe('waiting_for_input');
  });

  it('that were answered otherwise belong to another conversation', async () => {
    const asked = await clientOf('6', place()).chat.completions.create(CALLS);
    const { message } = asked.choices[0]!;
    const ask = (outputs: readonly string[]) =>
      clientOf('6', place()).chat.completions.create({ ...CALLS, messages: answered(message, outputs) });
    expect((await ask(['rain', 'low'])).id).toBe(asked.id);
    expect(await ask(['sun', 'high'])).not.toMatchObject({ id: asked.id });
  });
});

describe('what has to be approved', () => {
  const ask = (model: string, more: object = {}) =>
    clientOf('6', place()).chat.completions.create({ model, messages: [user('Go on.')], ...more });
  const eventsOf = async (id: string): Promise<string[]> => {
    const url = `${place().url}/v1/tasks/${id.slice(9)}/events?limit=500`;
    const { body } = await call(url, { key: keys.ann, headers: { accept: 'application/json' } });
    return (body['events'] as { event_type: string }[]).map(({ event_type }) => event_type);
  };
  const approval = { type: 'function' as const, function: { name: 'gateway_request_approval' } };

  it('is denied where nobody can be asked, and the agent goes on', async () => {
    for (const model of ['supervised', 'asking']) {
      const { id, choices } = await ask(model);
      expect(choices[0]).toMatchObject({ message: { content: 'decided' }, finish_reason: 'stop' });
      expect(await eventsOf(id)).toContain('tool.denied');
      expect(await eventsOf(id)).not.toContain('tool.invoked');
    }
  });

  it.each([
    ['true', true, 'tool.invoked'],
    ['"yes"', 'yes', 'tool.denied'],
  ])('is asked by a tool call, and %s decides', async (_, approved, seen) => {
    const asked = await ask('asking', { tools: [approval] });
    const { message } = asked.choices[0]!;
    const made = message.tool_calls![0] as OpenAI.Chat.ChatCompletionMessageFunctionToolCall;
    expect(JSON.parse(made.function.arguments)).toEqual({
      pending: [
        { toolCallId: 'call_1', kind: 'tool_confirmation', toolName: 'summarise', args: { text: 'One. Two.' } },
      ],
    });
    const reply = (content: string) =>
      ask('asking', {
        tools: [approval],
        messages: [user('Go on.'), message, { role: 'tool', tool_call_id: made.id, content }],
      });
    await expect(reply('Sure!')).rejects.toMatchObject({ status: 400, param: 'messages[2].content' });
    const decided = await reply(JSON.stringify({ decisions: [{ toolCallId: 'call_1', approved }] }));
    expect(decided).toMatchObject({ id: asked.id, choices: [{ message: { content: 'decided' } }] });
    const events = await eventsOf(asked.id);
    expect(events.filter((type) => type === 'tool.invoked' || type === 'tool.denied')).toEqual([seen]);
  });

  it('goes on waiting in a task that was begun elsewhere when it is picked up without a right to decide', async () => {
    const { url, key } = place();
    const begun = await call(`${url}/v1/tasks`, { key, body: { agent_id: 'supervised', input: 'x', mode: 'sync' } });
    expect(begun.body).toMatchObject({ state: 'waiting_for_input' });
    const scopes = ['tasks:submit', 'tasks:read'];
    const made = await call(`${url}/v1/keys`, { body: { principal: 'ann', scopes } });
    const metadata = { task_id: String(begun.body['task_id']) };
    for (const stream of [false, true]) {
      const body = { model: 'supervised', messages: [user('Yes.')], metadata, stream };
      const headers = { authorization: `Bearer ${String(made.body['key'])}`, 'content-type': 'application/json' };
      const answer = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      expect(await answer.text()).toContain('insufficient_permissions');
    }
    const { body } = await call(`${url}/v1/tasks/${metadata.task_id}`, { key });
    expect(body).toMatchObject({ state: 'waiting_for_input' });
  });

  it('is shown where the agent says so, and no message decides it', async () => {
    const shown = await ask('showing');
    const gateway = { taskId: shown.id.slice(9), status: 'waiting_for_input', pending: [{ toolCallId: 'call_1' }] };
    expect(shown).toMatchObject({ choices: [{ finish_reason: 'stop' }], gateway });
    const metadata = { task_id: shown.id.slice(9) };
    expect(await ask('showing', { metadata, messages: [user('yes')] })).toMatchObject({ gateway });
    const decision = { decisions: [{ tool_call_id: 'call_1', approved: true }] };
    await call(`${place().url}/v1/tasks/${metadata.task_id}/resume`, { key: keys.ann, body: decision });
    const done = await ask('showing', { metadata });
    expect(done.choices[0]).toMatchObject({ message: { content: 'decided' }, finish_reason: 'stop' });
  });

  it('is not a question: that is asked in words, and answered in words', async () => {
    const asked = await ask('curious');
    expect(asked.choices[0]).toMatchObject({ message: { content: 'Which colour?' }, finish_reason: 'stop' });
    const metadata = { task_id: asked.id.slice(9) };
    await ask('curious', {
      metadata,
      messages: [user('And?'), { role: 'assistant', content: 'Which?' }, user('blue')],
    });
    const { body } = await call(`${place().url}/v1/tasks/${metadata.task_id}`, { key: keys.ann });
    expect(body).toMatchObject({ state: 'succeeded', result: { data: { answer: { input: 'blue' } } } });
  });
});

describe('a conversation', () => {
  const toldOf = async (id: string): Promise<Record<string, unknown>> => {
    const { body } = await call(`${place().url}/v1/tasks/${id.slice(9)}`, { key: keys.ann });
    return (body['result'] as { data: Record<string, unknown> }).data;
  };
  const messages: Message[] = [
    { role: 'system', content: 'Be brief.' },
    user('Where are the trams?'),
    {
      role: 'assistant',
      content: 'I shall look.',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":"depot"}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'all' },
    { role: 'assistant', content: 'At the depot.' },
    user('And the buses?'),
  ];
  const before = [
    { role: 'user', text: 'Where are the trams?' },
    {
      role: 'assistant',
      text: 'I shall look.',
      tool_calls: [{ tool_call_id: 'c1', tool_name: 'look', arguments: { at: 'depot' } }],
    },
    { role: 'tool', tool_call_id: 'c1', output: 'all' },
    { role: 'assistant', text: 'At the depot.' },
  ];

  it('reaches the agent: what the user said last as its input, what came before as what it is', async () => {
    const metadata = { session_id: 'buses' };
    const { id } = await clientOf('6', place()).chat.completions.create({ model: 'told', messages, metadata });
    expect(await toldOf(id)).toEqual({
      input: 'And the buses?',
      callerConversation: { before, after: [] },
      sessionId: 'buses',
    });
  });

  it('has instructions of its client only where the agent takes them; thoughts are shown where it shows them', async () => {
    const { id, choices } = await clientOf('6', place()).chat.completions.create({ model: 'taught', messages });
    expect(await toldOf(id)).toMatchObject({
      callerConversation: { before: [{ role: 'system', text: 'Be brief.' }, ...before] },
    });
    expect(choices[0]!.message).toMatchObject({ content: 'told', reasoning_content: 'Hm.' });
  });

  it('brings files along, and is told where one cannot be taken', async () => {
    const ask = (...content: OpenAI.Chat.ChatCompletionContentPart[]) =>
      clientOf('6', place()).chat.completions.create({ model: 'told', messages: [{ role: 'user', content }] });
    const image = (url: string) => ({ type: 'image_url' as const, image_url: { url } });
    const { id } = await ask({ type: 'text', text: 'What is it?' }, image('data:image/png;base64,iVBORw0KGgo='));
    expect(await toldOf(id)).toMatchObject({
      input: [
        { type: 'text', text: 'What is it?' },
        { type: 'image', media_type: 'image/png', data: 'iVBORw0KGgo=' },
      ],
    });
    await expect(ask({ type: 'text', text: 'And?' }, image('data:image/png,%00'))).rejects.toMatchObject({
      status: 400,
      param: 'messages[0].content[1].image_url.url',
    });
    await expect(ask(image('data:image/png;base64,iVBO='))).rejects.toMatchObject({
      status: 400,
      param: 'messages[0].content[0]',
    });
  });

  it('ends with links to what was made', async () => {
    const body = {
      model: 'scripted',
      messages: script({ artifact: { name: 'made.txt', text: 'made' } }, { result: 'x' }),
    };
    const { gateway } = (await clientOf('6', place()).chat.completions.create(body)) as unknown as {
      gateway: { artifacts: { name: string; mediaType: string; size: number; url: string }[] };
    };
    expect(gateway.artifacts).toMatchObject([{ name: 'made.txt', mediaType: 'text/plain', size: 4 }]);
    expect(await (await fetch(gateway.artifacts[0]!.url)).text()).toBe('made');
  });

  it('is answered in full when the answer is longer than any event', async () => {
    const long = 'The trams run. '.repeat(4_000);
    const body = { model: 'scripted', messages: script({ result: long }) };
    const whole = await clientOf('6', place()).chat.completions.create(body);
    const streamed = await clientOf('6', place()).chat.completions.stream(body).finalContent();
    expect(whole.choices[0]!.message.content).toBe(long);
    expect(streamed).toBe(long);
  });
});

describe('a request that is sent again', () => {
  const messages = script({ wait_ms: 1_500 }, { result: 'slow' });

  it.each(['cut', 'keyed'] as const)(
    'is executed once when its connection was lost after acceptance (%s)',
    async (who) => {
      const road = new Road([place(0, who), place(1, who)], async (attempt) => {
        if (attempt > 0) return;
        await until(async () => (await tasksOf(who)).length === 1, { what: 'the first attempt to be taken' });
        throw new TypeError('fetch failed');
      });
      const client = clientOf('6', place(0, who), { maxRetries: 2, fetch: road.fetch });
      const options = who === 'keyed' ? { headers: { 'Idempotency-Key': 'once' } } : {};
      const { data, response } = await client.chat.completions
        .create({ model: 'scripted', messages }, options)
        .withResponse();
      expect(data.choices[0]!.message.content).toBe('slow');
      expect(road.asked.map(({ retry }) => retry)).toEqual(['0', '1']);
      expect((await tasksOf(who)).map(({ task_id, state }) => [task_id, state])).toEqual([
        [response.headers.get('x-task-id'), 'succeeded'],
      ]);
    },
  );

  it('is refused with another body under the same key, and not sent again', async () => {
    const road = new Road([place(0, 'keyed')]);
    const client = clientOf('6', place(0, 'keyed'), { maxRetries: 2, fetch: road.fetch });
    const other = client.chat.completions.create(
      { model: 'scripted', messages: [user('Something else.')] },
      { headers: { 'Idempotency-Key': 'once' } },
    );
    await expect(other).rejects.toMatchObject({ status: 422, code: 'idempotency_key_reused' });
    expect(road.asked).toHaveLength(1);
  });

  it('is two tasks when its client asks twice', async () => {
    const client = clientOf('6', place(0, 'twice'));
    const body = { model: 'scripted', messages: [user('Once more.')] };
    await client.chat.completions.create(body);
    await client.chat.completions.create(body);
    expect(await tasksOf('twice')).toHaveLength(2);
  });
});

describe('a client that leaves', () => {
  const stateOf = async (who: Principal): Promise<unknown> => (await tasksOf(who))[0]?.['state'];

  it('has its task cancelled after a while', async () => {
    const stop = new AbortController();
    const body = { model: 'endless', messages: [user('Go on.')], stream: true as const };
    const stream = await clientOf('6', place(0, 'leaver')).chat.completions.create(body, { signal: stop.signal });
    for await (const chunk of stream) {
      expect(chunk.choices[0]!.delta).toEqual({ role: 'assistant', content: '' });
      break;
    }
    await until(async () => (await stateOf('leaver')) === 'cancelled');
    const { body: task } = await call(`${place().url}/v1/tasks/${String((await tasksOf('leaver'))[0]!['task_id'])}`, {
      key: keys.leaver,
    });
    expect(task['cancel_requested']).toBe(true);
  });

  it('keeps its task when it comes back, by another gateway', async () => {
    const messages = script({ wait_ms: 3_500 }, { result: 'at last' });
    const road = new Road([place(0, 'returner'), place(1, 'returner')], async (attempt) => {
      if (attempt > 0) return;
      await until(async () => (await tasksOf('returner')).length === 1);
      throw new TypeError('fetch failed');
    });
    const client = clientOf('6', place(0, 'returner'), { maxRetries: 1, fetch: road.fetch });
    const helper = client.chat.completions.stream({ model: 'scripted', messages });
    expect(await helper.finalContent()).toBe('at last');
    expect(await tasksOf('returner')).toHaveLength(1);
  });

  it('is told after a while that the answer takes too long for one that is no stream', async () => {
    const late = clientOf('6', place(0, 'reader'), { maxRetries: 2 }).chat.completions.create({
      model: 'endless',
      messages: [user('Go on.')],
    });
    await expect(late).rejects.toMatchObject({ status: 504, code: 'task_timeout' });
    await until(async () => (await stateOf('reader')) === 'cancelled');
    expect(await tasksOf('reader')).toHaveLength(1);
  });
});

describe('the Vercel AI SDK', () => {
  const model = (id: string) =>
    createOpenAICompatible({ name: 'ours', baseURL: `${place(1).url}/v1`, apiKey: keys.ann, includeUsage: true })(id);

  it('generates, streams, and calls its tools', async () => {
    const prompt = 'The trams run again.';
    expect((await generateText({ model: model('scripted'), prompt })).text).toBe(prompt);
    const { textStream } = streamText({ model: model('scripted'), prompt });
    let streamed = '';
    for await (const text of textStream) streamed += text;
    expect(streamed).toBe(prompt);
    const asked: unknown[] = [];
    const weather = tool({
      inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
      execute: async (args) => (asked.push(args), 'rain'),
    });
    const { text } = await generateText({
      model: model('caller'),
      prompt: 'weather {"city":"Oslo"}',
      tools: { weather },
      stopWhen: stepCountIs(3),
    });
    expect({ text, asked }).toEqual({ text: 'Weather: rain', asked: [{ city: 'Oslo' }] });
  });
});

describe('on the wire', () => {
  const send = (path: string, init: RequestInit): Promise<Response> =>
    fetch(`${place().url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${keys.ann}`, 'content-type': 'application/json', ...init.headers },
    });
  const post = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    send('/v1/chat/completions', {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers,
    });
  const body = { model: 'scripted', messages: [user('Hi.')] };

  it('a stream is nothing but chunks and comments, whatever is accepted, and ends with its mark', async () => {
    const response = await post({ ...body, stream: true }, { accept: 'application/json' });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const taskId = response.headers.get('x-task-id')!;
    const chunk = (delta: object, finish_reason: string | null = null): object => ({
      id: `chatcmpl-${taskId}`,
      object: 'chat.completion.chunk',
      created: expect.any(Number),
      model: 'scripted',
      choices: [{ index: 0, delta, finish_reason, logprobs: null }],
    });
    const frames = (await response.text()).split('\n\n').filter((frame) => frame !== '' && !frame.startsWith(':'));
    expect(frames.pop()).toBe('data: [DONE]');
    expect(frames.map((frame) => JSON.parse(frame.replace(/^data: /, '')) as unknown)).toEqual([
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hi.' }),
      chunk({}, 'stop'),
    ]);
  });

  it.each([
    ['no JSON', () => post('{"model":'), 400, 'invalid_json'],
    ['too much', () => post({ ...body, user: 'x'.repeat(1_100_000) }), 413, 'request_too_large'],
    ['another content type', () => post('x', { 'content-type': 'text/plain' }), 415, 'unsupported_media_type'],
    ['no credential', () => post(body, { authorization: '' }), 401, 'invalid_api_key'],
    ['an unknown model', () => post({ ...body, model: 'gpt' }), 404, 'model_not_found'],
    ['another version of a model', () => post({ ...body, model: 'scripted@0' }), 404, 'model_not_found'],
    ['an unknown task', () => post({ ...body, metadata: { task_id: 'none' } }), 404, 'task_not_found'],
    ['another method', () => send('/v1/chat/completions', { method: 'PUT', body: '{}' }), 405, 'method_not_allowed'],
    ['a stored completion', () => send('/v1/chat/completions/chatcmpl-1', {}), 404, 'unknown_url'],
    ['another API', () => send('/v1/responses', { method: 'POST', body: '{}' }), 404, 'unknown_url'],
  ])('%s is refused in words clients know', async (_, ask, status, code) => {
    const response = await ask();
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    const { error } = (await response.json()) as { error: Record<string, unknown> };
    expect({ status: response.status, code: error['code'] }).toEqual({ status, code });
    expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type']);
  });

  it('the task of somebody else is as unknown as none', async () => {
    const { headers } = await post(body);
    const metadata = { task_id: headers.get('x-task-id') };
    const foreign = await post({ ...body, metadata }, { authorization: `Bearer ${keys.bob}` });
    const unknown = await post({ ...body, metadata: { task_id: 'none' } }, { authorization: `Bearer ${keys.bob}` });
    expect([foreign.status, await foreign.json()]).toEqual([404, await unknown.json()]);
  });

  it('a stream whose gateway stops ends with an error that says so', async () => {
    const stream = await clientOf('6', place(1, 'bob')).chat.completions.create({
      model: 'endless',
      messages: [user('Go on.')],
      stream: true,
    });
    const read = async (): Promise<void> => {
      for await (const { choices } of stream) {
        expect(choices[0]!.delta.role).toBe('assistant');
        installation.gateways[1]!.signal('SIGTERM');
      }
    };
    await expect(read()).rejects.toMatchObject({ code: 'overloaded' });
  });
});
