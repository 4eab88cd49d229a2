import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { HttpAgent } from '@ag-ui/client';
import { EventSchemas } from '@ag-ui/core/schemas';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { HttpAgent as HttpAgent53 } from 'agui53';
import { HttpAgent as HttpAgent57 } from 'agui57';
import { HttpAgent as HttpAgent59 } from 'agui59';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { EventStream } from '../support/event-stream.js';
import { ADMIN_KEY, call, Installation, type Member } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { testRedisUrl } from '../support/redis.js';
import { until } from '../support/until.js';
import {
  ASKS,
  ASKS_TWICE,
  BREAKS,
  CONTEXT,
  EVERYTHING,
  FRONTEND,
  LASTS,
  LONG,
  QUESTION,
  SUBAGENTS,
} from './ag-ui.scripts.js';
import { headersOf, interruptsOf, readStream, runAgent, type SeenRun, type WireEvent } from './drivers/ag-ui.client.js';
import type { Place } from './drivers/driver.js';

type AgentClass = typeof HttpAgent;
const OLDER = [
  ['0.0.59', HttpAgent59],
  ['0.0.57', HttpAgent57],
  ['0.0.53', HttpAgent53],
] as unknown as readonly (readonly [string, AgentClass])[];
const CLIENTS = [['1.0.0', HttpAgent] as const, ...OLDER];

let database: TestDatabase;
let installation: Installation;
/** One gateway to begin at, another to go on with. */
let here: Place;
let there: Place;
/** Shows all there is to show. */
let open: Place;
/** Has extensions, and little patience. */
let odd: Place;
let keys: Record<'bob' | 'reader', string>;
let warnings: string[];

beforeAll(async () => {
  database = await createDatabase();
  const env = {
    AGENTS_FILE: path.resolve('test/interop/agents.yaml'),
    CORS_ORIGINS: 'https://ui.example',
    AGUI_CONTEXT_HEADERS: 'X-Trace-Id',
  };
  keys = await createKeys(database.url, {
    bob: { principal: 'bob', scopes: ['tasks:submit', 'tasks:read', 'tasks:decide'] },
    reader: { principal: 'reader', scopes: ['tasks:submit', 'tasks:read'] },
  });
  const place = ({ url }: Member, key = ADMIN_KEY): Place => ({ url, key });
  installation = await Installation.start({
    databaseUrl: database.url,
    redisUrl: testRedisUrl(),
    gateways: 2,
    runtimes: 1,
    env,
  });
  here = place(installation.gateways[0]!);
  there = place(installation.gateways[1]!);
  const [more, less] = await Promise.all([
    installation.addGateway({
      AGUI_REASONING: 'true',
      AGUI_TOKEN_USAGE: 'true',
      AGUI_NATIVE_SUBAGENTS: 'true',
      AGUI_RAW_EVENTS: 'true',
      AGUI_TOOL_MODE: 'FRONTEND_ONLY',
    }),
    installation.addGateway({
      AGUI_EXTENSIONS: path.resolve('dist/test/interop/ag-ui.extensions.js'),
      AGUI_RUN_TIMEOUT_SECONDS: '2',
      AGUI_INTERRUPT_ON_DISCONNECT: 'true',
      AGUI_TOOL_CALL_ARGS: 'false',
      AGUI_STATE_EVENTS: 'false',
      AGUI_TOOL_MODE: 'AGENT_ONLY',
    }),
  ]);
  open = place(more);
  odd = place(less);
}, 120_000);

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
});

beforeEach(() => {
  warnings = [];
  jest.spyOn(console, 'warn').mockImplementation((...words: unknown[]) => void warnings.push(words.join(' ')));
});

afterEach(() => {
  jest.restoreAllMocks();
  const refused = warnings.filter((line) => line.startsWith('[ag-ui][enforce]'));
  if (refused.length > 0) throw new Error(refused.join('\n'));
});

interface Wish {
  readonly Client?: AgentClass;
  readonly agentId?: string;
  readonly threadId?: string;
  readonly headers?: Record<string, string>;
}

function agentAt(place: Place, text: string, wish: Wish = {}): HttpAgent {
  const { Client = HttpAgent, agentId = 'asking', threadId = randomUUID(), headers = {} } = wish;
  const url = `${place.url}/agui/run/${agentId}`;
  const agent = new Client({ url, threadId, headers: { ...headersOf(place), ...headers } });
  if (text !== '') say(agent, text);
  return agent;
}

function say(agent: HttpAgent, text: string): void {
  agent.setMessages([...agent.messages, { id: randomUUID(), role: 'user', content: text }]);
}

const typesOf = ({ events }: Pick<SeenRun, 'events'>): string[] => events.map(({ type }) => type);
const outcomeOf = ({ end }: SeenRun): unknown => (end?.['outcome'] as { type?: string } | undefined)?.type;
const dataOf = ({ end }: SeenRun): Record<string, unknown> =>
  (end?.['result'] as { data: Record<string, unknown> }).data;
const errorOf = ({ end }: SeenRun): unknown => (end?.type === 'RUN_ERROR' ? end['code'] : end?.type);
const nameOf = (run: SeenRun): string => String((run.events[0]!['metadata'] as { taskId: string }).taskId);
const resultsOf = (run: SeenRun): unknown[] =>
  run.events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map((each) => [each['toolCallId'], each['content']]);
const pathOf = (agent: HttpAgent, runId: string, rest: string): string =>
  `/agui/threads/${agent.threadId}/runs/${runId}/${rest}`;

/** A run as it comes over the wire, without a client in between. */
async function post(place: Place, body: object, agentId = 'asking'): Promise<WireEvent[]> {
  const stream = await EventStream.open(`${place.url}/agui/run/${agentId}`, { key: place.key, body });
  if (stream.status !== 200) throw new Error(await stream.text());
  const events: WireEvent[] = [];
  for await (const { data } of stream) events.push(JSON.parse(data) as WireEvent);
  return events;
}

const approved = { approved: true };
type Entries = NonNullable<Parameters<HttpAgent['runAgent']>[0]>['resume'];
const resolve = (run: SeenRun, ...payloads: unknown[]): NonNullable<Entries> =>
  interruptsOf(run.end).map(({ id }, index) => ({
    interruptId: id,
    status: 'resolved',
    payload: payloads[index] ?? payloads[0],
  }));

describe.each(CLIENTS)('the client %s', (version, Client) => {
  const isFull = version === '1.0.0';

  it('takes a run with everything in it, and sees it to its end', async () => {
    const agent = agentAt(open, EVERYTHING, { Client });
    const run = await runAgent(agent);
    expect(run.end).toMatchObject({ type: 'RUN_FINISHED', result: { text: 'done' } });
    expect(run.events.filter(({ type }) => type === 'RUN_FINISHED' || type === 'RUN_ERROR')).toHaveLength(1);
    expect(typesOf(run)).toEqual(expect.arrayContaining(['REASONING_MESSAGE_CONTENT', 'STEP_FINISHED', 'CUSTOM']));
    expect(resultsOf(run)).toEqual([
      ['c2', '[{"type":"text","text":"here"}]'],
      ['c1', 'twelve'],
    ]);
    const steps = run.events.filter(({ type }) => type === 'STEP_STARTED').map(({ stepName }) => stepName);
    expect(steps).toEqual(['look', 'look#2']);
    const ids = agent.messages.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(agent.messages).toContainEqual(expect.objectContaining({ id: 'm1', content: 'Hello' }));
    const usages = run.events.filter(({ name }) => name === 'token_usage').map(({ value }) => value);
    expect(usages).toMatchObject([
      { cumulative: { totalTokens: 7 } },
      { delta: { totalTokens: 2 }, cumulative: { totalTokens: 9 } },
    ]);
    expect(run.end!['usage']).toEqual([{ model: 'm', inputTokens: 4, outputTokens: 5, totalTokens: 9 }]);
  });

  it('is shown no reasoning, usage or private events unless they are switched on', async () => {
    const run = await runAgent(agentAt(here, EVERYTHING, { Client }));
    expect(typesOf(run).filter((type) => type.startsWith('REASONING') || type === 'RAW')).toEqual([]);
    expect(run.events.filter(({ type }) => type === 'CUSTOM').map(({ name }) => name)).toEqual(['artifact']);
    expect(run.end).not.toHaveProperty('usage');
  });

  it('sees a run fail in the middle of a message', async () => {
    const run = await runAgent(agentAt(here, BREAKS, { Client }));
    expect(run.end).toMatchObject({ type: 'RUN_ERROR', code: 'REMOTE_FAILED' });
  });

  it('sees a run cancelled that goes on', async () => {
    const agent = agentAt(here, LASTS, { Client });
    const runId = randomUUID();
    const running = runAgent(agent, { runId });
    const cancel = async (): Promise<boolean> =>
      (await call(`${there.url}${pathOf(agent, runId, 'cancel')}`, { method: 'POST' })).status === 202;
    await until(cancel);
    const run = await running;
    expect(isFull ? outcomeOf(run) : errorOf(run)).toBe('cancelled');
  });

  it('is stopped by an interrupt, and goes on with what was decided, at another gateway', async () => {
    const agent = agentAt(here, ASKS, { Client });
    const run = await runAgent(agent);
    expect(run.end).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'interrupt' } });
    const [interrupt] = interruptsOf(run.end);
    expect(interrupt).toMatchObject({ reason: 'tool_call', toolCallId: 'one', metadata: { toolName: 'summarise' } });
    agent.url = `${there.url}/agui/run`;
    const events = await post(there, {
      threadId: agent.threadId,
      runId: randomUUID(),
      messages: [],
      resume: resolve(run, approved),
    });
    const types = events.map(({ type }) => type).filter((type) => !type.startsWith('TEXT_'));
    expect(types).toEqual(['RUN_STARTED', 'TOOL_CALL_RESULT', 'RUN_FINISHED']);
  });

  it('runs a tool of its own, and the run goes on with what came of it', async () => {
    const agent = agentAt(here, FRONTEND, { Client });
    const run = await runAgent(agent);
    expect(run.end?.type).toBe('RUN_FINISHED');
    expect(run.end!['outcome']).toEqual(isFull ? { type: 'success', pendingToolCallIds: ['f1'] } : undefined);
    agent.setMessages([...agent.messages, { id: 'r1', role: 'tool', toolCallId: 'f1', content: 'two' }]);
    const after = await runAgent(agent);
    expect(dataOf(after)['answer']).toMatchObject({ results: [{ tool_call_id: 'f1', output: 'two' }] });
    expect(resultsOf(after)).toEqual([]);
  });

  it('takes what sub-agents do, as events of their own only when it knows them', async () => {
    const run = await runAgent(agentAt(open, SUBAGENTS, { Client }));
    expect(run.end).toMatchObject({ outcome: { type: 'interrupt' } });
    const [interrupt] = interruptsOf(run.end);
    const ends = run.events.filter(({ type }) => type === 'SUBAGENT_FINISHED').map(({ outcome }) => outcome);
    expect(ends).toEqual(isFull ? [undefined, { type: 'suspended', interruptIds: [interrupt!.id] }] : []);
    expect(interrupt!.subagentRunId).toBe(isFull ? 'main/other#2' : undefined);
    const customs = run.events.filter(({ type }) => type === 'CUSTOM').map(({ name }) => name);
    const named = ['lifecycle', 'text', 'tool_call', 'tool_result', 'require_confirm'].map(
      (name) => `subagent.${name}`,
    );
    expect([...new Set(customs)].sort()).toEqual((isFull ? ['mood'] : [...named, 'mood']).sort());
    expect(typesOf(run)).toEqual(expect.arrayContaining(['STATE_SNAPSHOT', 'RAW']));
  });
});

describe('interrupts', () => {
  const begin = async (text: string): Promise<{ agent: HttpAgent; run: SeenRun }> => {
    const agent = agentAt(here, text);
    return { agent, run: await runAgent(agent) };
  };

  it('are answered all at once or not at all, and only as they stand', async () => {
    const { agent, run } = await begin(ASKS_TWICE);
    const [one, two] = resolve(run, approved) as [object, object];
    const refuse = async (resume: readonly object[]): Promise<unknown> => {
      const events = await post(there, { threadId: agent.threadId, runId: randomUUID(), messages: [], resume });
      return events.map(({ type, code }) => code ?? type);
    };
    const refused = ['RUN_STARTED', 'AGUI_INTERRUPT_CONTRACT_ERROR'];
    expect(await refuse([one])).toEqual(refused);
    expect(await refuse([one, one])).toEqual(refused);
    expect(await refuse([one, two, { ...two, interruptId: 'none' }])).toEqual(refused);
    expect(await refuse([one, { ...two, payload: { approved: true, editedArgs: 'text' } }])).toEqual(refused);
    expect(await refuse([])).toEqual(refused);
    const after = await runAgent(agent, { resume: resolve(run, approved, { approved: false, reason: 'not that' }) });
    expect(dataOf(after)['answer']).toMatchObject({
      decisions: [
        { tool_call_id: 'one', approved: true },
        { tool_call_id: 'two', approved: false, reason: 'not that' },
      ],
    });
    expect(resultsOf(after)).toEqual([
      ['two', 'not that'],
      ['one', 'made'],
    ]);
  });

  it.each([
    ['true as a text', { approved: 'true' }, { approved: false, reason: 'Permission denied by user' }],
    ['nothing', undefined, { approved: false }],
    [
      'other arguments',
      { approved: true, editedArgs: { text: 'Else.' } },
      { approved: true, edited_args: { text: 'Else.' } },
    ],
  ])('take %s for what it is', async (_what, payload, decision) => {
    const { agent, run } = await begin(ASKS);
    const after = await runAgent(agent, { resume: resolve(run, payload) });
    expect(dataOf(after)['answer']).toMatchObject({ decisions: [decision] });
  });

  it('that are cancelled deny a call, and end a task that only asked', async () => {
    const { agent, run } = await begin(ASKS);
    const cancelled = (of: SeenRun): NonNullable<Entries> =>
      interruptsOf(of.end).map(({ id }) => ({ interruptId: id, status: 'cancelled' }));
    const after = await runAgent(agent, { resume: cancelled(run) });
    expect(dataOf(after)['answer']).toMatchObject({ decisions: [{ approved: false }] });
    const { agent: asked, run: question } = await begin(QUESTION);
    expect(question.end).toMatchObject({ outcome: { interrupts: [{ reason: 'input_required', message: 'Which?' }] } });
    expect(outcomeOf(await runAgent(asked, { resume: cancelled(question) }))).toBe('cancelled');
    // The client is free again.
    say(asked, 'Go on.');
    expect(outcomeOf(await runAgent(asked))).toBe('success');
  });

  it('that ask a question take its answer', async () => {
    const { agent, run } = await begin(QUESTION);
    const after = await runAgent(agent, { resume: resolve(run, { answer: 'This one.' }) });
    expect(dataOf(after)['answer']).toMatchObject({ input: 'This one.' });
  });

  it('take the same answers again, under the same name and another, and no others', async () => {
    const { agent, run } = await begin(ASKS);
    const threadId = agent.threadId;
    const body = { threadId, runId: 'first', messages: [], resume: resolve(run, approved) };
    const [first, again] = await Promise.all([post(here, body), post(there, body)]);
    expect(again).toEqual(first);
    const other = await post(there, { ...body, runId: 'second' });
    expect(other.slice(1, -1)).toEqual(first.slice(1, -1));
    const denied = await post(there, { ...body, runId: 'third', resume: resolve(run, { approved: false }) });
    expect(denied.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'AGUI_INTERRUPT_CONTRACT_ERROR' });
  });

  it('hold a thread, whatever is said meanwhile, and can be left behind when they are gone', async () => {
    const { agent, run } = await begin(ASKS);
    const message = { id: randomUUID(), role: 'user', content: 'Never mind.' };
    const body = { threadId: agent.threadId, messages: [...agent.messages, message] };
    const meanwhile = await post(there, { ...body, runId: 'meanwhile' });
    expect(meanwhile.at(-1)).toMatchObject({ code: 'AGUI_INTERRUPT_CONTRACT_ERROR' });
    await call(`${there.url}/v1/tasks/${nameOf(run)}/cancel`, { body: {} });
    const resume = interruptsOf(run.end).map(({ id }) => ({ interruptId: id, status: 'cancelled' }));
    const idle = await post(there, { threadId: agent.threadId, runId: 'idle', messages: agent.messages, resume });
    expect(idle.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_FINISHED']);
    const after = await post(there, { ...body, runId: 'after', resume });
    expect(after.at(-1)).toMatchObject({ type: 'RUN_FINISHED', result: { text: 'Never mind.' } });
  });

  it('expire with their task', async () => {
    const agent = agentAt(here, ASKS, { agentId: 'hasty' });
    const run = await runAgent(agent);
    const expiresAt = Date.parse(interruptsOf(run.end)[0]!.expiresAt!);
    const state = async (): Promise<unknown> => (await call(`${there.url}/v1/tasks/${nameOf(run)}`)).body['state'];
    await until(async () => (await state()) === 'failed', { timeoutMs: 20_000 });
    expect(Date.now()).toBeGreaterThan(expiresAt);
    const late = await post(there, {
      threadId: agent.threadId,
      runId: 'late',
      messages: [],
      resume: resolve(run, approved),
    });
    expect(late.at(-1)).toMatchObject({ code: 'AGUI_INTERRUPT_CONTRACT_ERROR' });
  });

  it('need somebody who may decide', async () => {
    const reader = { url: here.url, key: keys.reader };
    const agent = agentAt(reader, ASKS);
    const run = await runAgent(agent);
    await expect(runAgent(agent, { resume: resolve(run, approved) })).rejects.toMatchObject({ status: 403 });
  });
});

describe('runs', () => {
  it('go on without their client, and are read again from the other gateway', async () => {
    const agent = agentAt(here, LASTS);
    const runId = randomUUID();
    const left = runAgent(agent, { runId });
    await until(() => agent.messages.some(({ content }) => content === 'Hel'));
    agent.abortRun();
    await left.catch(() => undefined);
    const events = `${there.url}${pathOf(agent, runId, 'events')}`;
    const stream = await EventStream.open(events, { key: there.key });
    const frames: { id: string | undefined; type: string }[] = [];
    for await (const { id, data } of stream) {
      frames.push({ id, type: (JSON.parse(data) as WireEvent).type });
      if (frames.at(-1)!.type !== 'TEXT_MESSAGE_CONTENT') continue;
      await call(`${here.url}${pathOf(agent, runId, 'cancel')}`, { method: 'POST' });
    }
    const types = frames.map(({ type }) => type);
    expect(types[0]).toBe('RUN_STARTED');
    expect(types.at(-1)).toBe('RUN_FINISHED');
    const known = frames.findIndex(({ type }) => type === 'TEXT_MESSAGE_CONTENT');
    const headers = { 'last-event-id': frames[known]!.id! };
    const rest = await EventStream.open(events, { key: there.key, headers });
    const seen: { id: string | undefined; type: string }[] = [];
    for await (const { id, data } of rest) seen.push({ id, type: (JSON.parse(data) as WireEvent).type });
    expect(seen).toEqual(frames.slice(known + 1));
  });

  it('of one name are one run, unless they are asked for differently', async () => {
    const message = { id: 'm', role: 'user', content: EVERYTHING };
    const body = { threadId: randomUUID(), runId: 'same', messages: [message] };
    const [one, two] = await Promise.all([post(here, body), post(there, body)]);
    expect(two).toEqual(one);
    expect(one.filter(({ type }) => type !== 'RUN_STARTED').map((each) => EventSchemas.safeParse(each).error)).toEqual(
      one.slice(1).map(() => undefined),
    );
    const other = await post(there, { ...body, state: { changed: true } });
    expect(other.map(({ code, type }) => code ?? type)).toEqual(['RUN_STARTED', 'RUN_ID_REUSED']);
  });

  it('of one thread come one after the other, and are read one after the other', async () => {
    const agent = agentAt(here, LASTS);
    const runId = randomUUID();
    const running = runAgent(agent, { runId });
    await until(() => agent.messages.some(({ content }) => content === 'Hel'));
    const body = (id: string) => ({
      threadId: agent.threadId,
      runId: id,
      messages: [{ id, role: 'user', content: 'Me too.' }],
    });
    expect((await post(there, body('early'))).at(-1)).toMatchObject({ code: 'THREAD_BUSY' });
    await call(`${there.url}${pathOf(agent, runId, 'cancel')}`, { method: 'POST' });
    await running;
    const after = await Promise.all([post(here, body('a'), 'scripted'), post(there, body('b'))]);
    const codes = after.map((events) => events.at(-1)!['code'] ?? 'fine').sort();
    expect(['THREAD_BUSY', 'fine']).toContain(codes[0]);
    expect(codes).toContain('fine');
    const history = await readStream(there, `/agui/threads/${agent.threadId}/events`);
    const names = history.filter(({ type }) => type === 'RUN_STARTED').map((each) => each['runId']);
    expect(names[0]).toBe(runId);
    expect(names).toHaveLength(1 + codes.filter((code) => code === 'fine').length);
  });

  it('take what is new of a conversation, and answer the last message again when nothing is', async () => {
    const agent = agentAt(here, 'First.');
    expect((await runAgent(agent)).end).toMatchObject({ result: { text: 'First.' } });
    say(agent, 'Second.');
    expect((await runAgent(agent)).end).toMatchObject({ result: { text: 'Second.' } });
    agent.setMessages(agent.messages.slice(0, -1));
    expect((await runAgent(agent)).end).toMatchObject({ result: { text: 'Second.' } });
  });

  it('of others are nobody’s business', async () => {
    const agent = agentAt(here, 'Mine.');
    await runAgent(agent);
    const bob = { url: there.url, key: keys.bob };
    await expect(runAgent(agentAt(bob, 'Mine.', { threadId: agent.threadId }))).rejects.toMatchObject({ status: 404 });
    const answer = await call(`${there.url}/agui/threads/${agent.threadId}/events`, { key: keys.bob });
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  it('that take too long are cancelled, and say so whenever they are read', async () => {
    const agent = agentAt(odd, LASTS);
    const runId = randomUUID();
    const run = await runAgent(agent, { runId });
    expect(run.end).toMatchObject({ type: 'RUN_ERROR', code: 'TIMEOUT_ERROR' });
    const again = await readStream(there, pathOf(agent, runId, 'events'));
    expect(again.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'TIMEOUT_ERROR' });
  });

  it('end with their client where that is wanted', async () => {
    const agent = agentAt(odd, LASTS);
    const runId = randomUUID();
    const left = runAgent(agent, { runId });
    await until(() => agent.messages.some(({ content }) => String(content).startsWith('Hel')));
    agent.abortRun();
    await left.catch(() => undefined);
    const events = await readStream(there, pathOf(agent, runId, 'events'));
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } });
  }, 30_000);

  it('of great length come through whole', async () => {
    const agent = agentAt(here, LONG);
    await runAgent(agent);
    expect(agent.messages.find(({ id }) => id === 'm1')).toMatchObject({ content: 'x'.repeat(200_000) });
  });
});

describe('requests', () => {
  const message = (content: unknown): object => ({ id: 'm', role: 'user', content });
  const request = (content: unknown, more: object = {}): object => ({
    threadId: randomUUID(),
    runId: 'run',
    messages: [message(content)],
    ...more,
  });

  it.each([
    ['no thread', { runId: 'r', messages: [] }, 400, '/threadId'],
    [
      'a message without an id',
      { threadId: 't', runId: 'r', messages: [{ role: 'user', content: '' }] },
      400,
      '/messages/0',
    ],
    [
      'an unknown role',
      { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'robot', content: '' }] },
      400,
      '/messages/0',
    ],
    [
      'a resume of an unknown status',
      request('x', { resume: [{ interruptId: 'i', status: 'rejected' }] }),
      400,
      '/resume/0',
    ],
  ])('with %s are answered by a status', async (_what, body, status, where) => {
    const answer = await call(`${here.url}/agui/run/asking`, { body });
    expect(answer).toMatchObject({ status, body: { code: 'invalid_request' } });
    expect(JSON.stringify(answer.body['errors'])).toContain(where);
    expect(answer.headers.get('content-type')).toContain('application/json');
  });

  it('for an agent that is not there are 404, and leave nothing behind', async () => {
    const body = request('x');
    expect((await call(`${here.url}/agui/run/nobody`, { body })).status).toBe(404);
    expect((await post(here, body)).at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
  });

  it('with null for what is optional, and parts as they were before 1.0, are taken', async () => {
    const picture = { type: 'binary', mimeType: 'image/png', data: Buffer.from('x').toString('base64') };
    const nulls = { state: null, tools: [], context: [], resume: null };
    const body = request([{ type: 'text', text: 'Look.' }, picture], nulls);
    const end = (await post(here, body, 'seeing')).at(-1);
    const input = [
      { type: 'text', text: 'Look.' },
      { type: 'image', data: picture.data, media_type: 'image/png' },
    ];
    expect(end).toMatchObject({ type: 'RUN_FINISHED', result: { data: { input } } });
  });

  it('with a document the agent does not take fail without a word of where it is', async () => {
    const source = { type: 'url', value: 'https://secret.example/plan.pdf', mimeType: 'application/pdf' };
    const events = await post(here, request([{ type: 'document', source }]));
    expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'INVALID_INPUT_ERROR' });
    expect(JSON.stringify(events)).not.toContain('secret');
    expect((await post(here, request('', { messages: [] }))).at(-1)).toMatchObject({ code: 'INVALID_INPUT_ERROR' });
  });

  it('tell the run their state, hints and allowed headers, and never who calls', async () => {
    const headers = { 'X-Trace-Id': 'trace-1', 'X-Other': 'no', 'X-Agent-Id': 'nobody' };
    const agent = agentAt(here, CONTEXT, { headers });
    agent.setState({ page: 3 });
    const run = await runAgent(agent, {
      context: [{ description: 'Where', value: 'here' }],
      forwardedProps: { user_id: 'somebody', agentId: 'nobody' },
    });
    const { context, attributes } = dataOf(run) as { context: Record<string, unknown>; attributes: object };
    expect(context['ag_ui']).toMatchObject({ state: { page: 3 }, context: [{ value: 'here' }] });
    expect(context).not.toHaveProperty('user_id');
    expect(attributes).toEqual({ 'agentprotocol.context.attributes': { 'x-trace-id': 'trace-1' } });
  });

  it.each([
    ['MERGE_EXTERNAL_PRIORITY', () => here, ['pick', 'summarise']],
    ['FRONTEND_ONLY', () => open, ['pick', 'summarise']],
    ['AGENT_ONLY', () => odd, []],
  ])('bring tools of the frontend, in mode %s', async (_mode, place, expected) => {
    const tools = ['pick', 'summarise'].map((name) => ({ name, description: name, parameters: { type: 'object' } }));
    const body = { ...request(CONTEXT), tools };
    const end = (await post(place(), body)).at(-1) as WireEvent;
    // The gateway with extensions has its result from the log as well.
    const { clientTools } = (end['result'] as { data: { clientTools: { name: string }[] } }).data;
    expect(clientTools.map(({ name }) => name)).toEqual(expected);
  });

  it('of pages are let through with the header that names the agent', async () => {
    const answer = await fetch(`${here.url}/agui/run`, {
      method: 'OPTIONS',
      headers: { origin: 'https://ui.example', 'access-control-request-method': 'POST' },
    });
    const allowed = answer.headers.get('access-control-allow-headers')!.split(', ');
    expect(allowed).toEqual(expect.arrayContaining(['X-Agent-Id', 'X-Trace-Id']));
    const named = await call(`${here.url}/agui/run`, { body: request('x'), headers: { 'x-agent-id': 'nobody' } });
    expect(named.status).toBe(404);
  });

  it('for capabilities are told what is known', async () => {
    const { body } = await call(`${here.url}/agui/agents/asking/capabilities`);
    expect(body).toMatchObject({
      identity: { metadata: { agentId: 'asking' } },
      transport: { streaming: true, httpBinary: false },
      tools: { supported: true, clientProvided: true },
      reasoning: { supported: false },
      humanInTheLoop: { interrupts: true },
    });
  });
});

describe('extensions', () => {
  it('convert, change, add and drop in their order, and cannot break the rules', async () => {
    const run = await runAgent(agentAt(odd, EVERYTHING));
    expect(run.end).toMatchObject({ type: 'RUN_FINISHED', result: { text: 'done' } });
    expect(typesOf(run).filter((type) => type === 'RUN_STARTED' || type === 'RUN_FINISHED')).toHaveLength(2);
    expect(typesOf(run)).not.toContain('TOOL_CALL_RESULT');
    expect(typesOf(run)).not.toContain('TOOL_CALL_ARGS');
    expect(run.events.filter(({ type }) => type === 'STEP_STARTED').map((each) => each['stepName'])).toEqual(['mine']);
    const customs = run.events.filter(({ type }) => type === 'CUSTOM').map(({ name }) => name);
    expect(customs).toEqual(['file', 'file', 'added']);
    const file = run.events.find(({ name }) => name === 'file');
    expect(file).toMatchObject({ metadata: { by: ['first', 'second'], seq: file!['value'] } });
  });
});

// The last: it takes a gateway along.
describe('a gateway that stops', () => {
  it('tells those who watch, and the run goes on', async () => {
    const agent = agentAt(open, LASTS);
    const runId = randomUUID();
    const running = runAgent(agent, { runId });
    await until(() => agent.messages.some(({ content }) => content === 'Hel'));
    const stopped = installation.gateways.find(({ url }) => url === open.url)!.end('SIGTERM');
    expect((await running).end).toMatchObject({ type: 'RUN_ERROR', code: 'INTERRUPTED_ERROR' });
    await stopped;
    await call(`${there.url}${pathOf(agent, runId, 'cancel')}`, { method: 'POST' });
    expect((await readStream(there, pathOf(agent, runId, 'events'))).at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
  });
});
