import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { testRedisUrl } from '../support/redis.js';
import { until } from '../support/until.js';
import { ask, knock, openEvents, textOf, type EventReader, type Told } from './drivers/agentscope.wire.js';
import type { Place } from './drivers/driver.js';

let database: TestDatabase;
let installation: Installation;
/** One gateway has the streams, the other gets everything else. */
let here: Place;
let there: Place;
let bob: string;

beforeAll(async () => {
  database = await createDatabase();
  ({ bob } = await createKeys(database.url, { bob: { principal: 'bob', scopes: ['tasks:submit', 'tasks:read'] } }));
  installation = await Installation.start({
    databaseUrl: database.url,
    redisUrl: testRedisUrl(),
    gateways: 2,
    runtimes: 1,
    env: { AGENTS_FILE: path.resolve('test/interop/agents.yaml') },
  });
  [here, there] = installation.gateways.map(({ url }) => ({ url, key: ADMIN_KEY })) as [Place, Place];
}, 120_000);

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
});

let count = 0;
const newId = (): string => `task_00000000-0000-4000-8000-${String((count += 1)).padStart(12, '0')}`;

const submission = (task_id: string, input: unknown, more: object = {}): object => ({
  ...{ task_id, agent_id: 'scripted', input },
  context: { stream: true, detail: 'full' },
  ...more,
});

async function all(reader: EventReader): Promise<Told[]> {
  const events: Told[] = [];
  for await (const event of reader.events()) events.push(event);
  return events;
}

/** Reads on until an event with this status. */
async function readTo(events: AsyncGenerator<Told>, status: string): Promise<Told[]> {
  const seen: Told[] = [];
  for (;;) {
    const { done, value } = await events.next();
    if (done) throw new Error(`no ${status} in ${seen.map(({ type }) => type).join()}`);
    seen.push(value);
    if (value.status === status) return seen;
  }
}

const HEX = expect.stringMatching(/^[0-9a-f]{32}$/);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

/** Events with their payloads read; ids and times by their form. */
function plain(events: readonly Told[]): object[] {
  return events.map(({ seq: _, payload, ...event }) => ({
    ...event,
    ...(payload === undefined ? {} : { payload: JSON.parse(payload) as object }),
  }));
}

describe('a client that connects before it submits', () => {
  it('is answered in HTTP/1.1 at once, and then told everything of a task that another gateway took', async () => {
    const taskId = newId();
    const reader = await openEvents(here, taskId);
    expect(reader.head).toMatchObject({ status: 200, version: '1.1' });
    expect(reader.head.headers['content-type']).toMatch(/^text\/event-stream/);

    const text = [
      { event: { type: 'thinking.delta', payload: { message_id: 'm1', text: 'Hm.' } } },
      { result: 'Done.' },
    ];
    const submitted = await ask(there, '', { body: submission(taskId, JSON.stringify(text)) });
    expect(submitted).toEqual({ status: 200, body: { task_id: taskId, status: 'pending', state: 'queued' } });

    const events = await all(reader);
    const base = { taskId, agentId: 'scripted' };
    const agent = { ...base, timestamp: TIME };
    const source = { id: HEX, createdAt: TIME, replyId: HEX };
    expect(plain(events)).toEqual([
      {
        ...agent,
        type: 'RUN_STARTED',
        eventType: 'AGENT_START',
        payload: { ...source, type: 'AGENT_START', sessionId: taskId, name: 'scripted', role: 'assistant' },
      },
      {
        ...agent,
        type: 'THINKING_DELTA',
        text: 'Hm.',
        eventType: 'THINKING_BLOCK_DELTA',
        payload: { ...source, type: 'THINKING_BLOCK_DELTA', blockId: 'm1', delta: 'Hm.' },
      },
      {
        ...agent,
        type: 'TEXT_DELTA',
        text: 'Done.',
        eventType: 'TEXT_BLOCK_DELTA',
        payload: { ...source, type: 'TEXT_BLOCK_DELTA', blockId: expect.any(String), delta: 'Done.' },
      },
      { ...agent, type: 'RUN_FINISHED', eventType: 'AGENT_END', payload: { ...source, type: 'AGENT_END' } },
      { ...base, type: 'STATUS', status: 'success' },
    ]);
    const numbers = events.map(({ seq }) => seq);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    const [first] = events;
    expect(reader.raw()).toMatch(new RegExp(`^id:${first!.seq}\nevent:RUN_STARTED\ndata:\\{"seq":${first!.seq},`));
    expect(reader.raw()).not.toMatch(/^(?:id|event|data): /m);
  });

  it('goes on from any number with the very bytes that it would have got, on any gateway', async () => {
    const taskId = newId();
    await ask(here, '', { body: submission(taskId, 'One.', { context: { detail: 'verbose' } }) });
    const reader = await openEvents(there, taskId);
    const events = await all(reader);
    for (const { seq } of events) {
      const again = await openEvents(here, taskId, seq);
      const rest = await all(again);
      expect(rest).toEqual(events.filter((event) => event.seq > seq));
      expect(reader.raw().endsWith(again.raw())).toBe(true);
    }
  });

  it('is told nothing of a task that somebody else has submitted under that id', async () => {
    const [theirs, ours] = [newId(), newId()];
    const eve = { ...here, key: bob };
    const held = await openEvents(eve, theirs);
    const own = await openEvents(eve, ours);
    expect(held.head.status).toBe(200);
    const told: unknown[] = [];
    const reading = (async () => {
      for await (const event of held.events()) told.push(event);
    })().catch(() => undefined);
    await ask(there, '', { body: submission(theirs, 'A secret.') });
    await call(`${there.url}/v1/tasks/${theirs}/wait`);
    // Submitted later and on another surface, it is found all the same, by the same looks.
    await call(`${there.url}/v1/tasks`, { key: bob, body: { task_id: ours, agent_id: 'scripted', input: 'Mine.' } });
    expect((await all(own)).at(-1)).toMatchObject({ taskId: ours, status: 'success' });
    expect((await ask(eve, `/${theirs}`)).status).toBe(404);
    expect([told, held.raw()]).toEqual([[], '']);
    held.close();
    await reading;
  });

  it('is not held for an id that no task can have', async () => {
    const { status, response } = await knock(here, '/a%20b/events', { headers: { accept: 'text/event-stream' } });
    expect([status, await textOf(response)]).toEqual([404, '{"error":"task not found"}']);
  });
});

describe('a task that has to be approved', () => {
  const PENDING = [{ toolCallId: 'call_1', toolName: 'summarise', toolInputJson: '{"text":"One. Two."}' }];

  async function paused(): Promise<{
    taskId: string;
    reader: EventReader;
    events: AsyncGenerator<Told>;
    seen: Told[];
  }> {
    const taskId = newId();
    const reader = await openEvents(here, taskId);
    await ask(there, '', { body: submission(taskId, 'Go on.', { agent_id: 'supervised' }) });
    const events = reader.events();
    return { taskId, reader, events, seen: await readTo(events, 'awaiting_confirm') };
  }

  it('asks twice in the same words, goes on on the same stream once approved, and numbers on', async () => {
    const { taskId, events, seen } = await paused();
    const agent = { taskId, agentId: 'supervised', timestamp: TIME };
    const source = { id: HEX, createdAt: TIME, replyId: HEX };
    const call = { type: 'tool_use', id: 'call_1', name: 'summarise', input: { text: 'One. Two.' } };
    expect(plain(seen.slice(1))).toEqual([
      {
        ...agent,
        type: 'REQUIRE_CONFIRM',
        pendingConfirms: PENDING,
        eventType: 'REQUIRE_USER_CONFIRM',
        payload: {
          ...source,
          type: 'REQUIRE_USER_CONFIRM',
          toolCalls: [{ ...call, content: '{"text":"One. Two."}', metadata: {}, state: 'asking' }],
        },
      },
      { ...agent, type: 'RUN_FINISHED', eventType: 'AGENT_END', payload: { ...source, type: 'AGENT_END' } },
      { taskId, agentId: 'supervised', type: 'REQUIRE_CONFIRM', pendingConfirms: PENDING, status: 'awaiting_confirm' },
    ]);
    const waiting = { status: 'awaiting_confirm', state: 'waiting_for_input', pending_confirms: PENDING };
    expect(await ask(there, `/${taskId}`)).toEqual({ status: 200, body: { task_id: taskId, ...waiting } });
    expect(await ask(there, `/${taskId}/wait`)).toEqual({ status: 200, body: waiting });

    const body = {
      decisions: [{ tool_call_id: 'call_1', approved: 'TRUE' }, 7, { toolCallId: 'other', approved: true }],
    };
    const resumed = await ask(there, `/${taskId}/resume`, { body });
    expect(resumed).toEqual({ status: 200, body: { task_id: taskId, status: 'running', state: 'running' } });
    const rest = await readTo(events, 'success');
    expect(rest.map(({ type, status = '' }) => `${type} ${status}`.trim())).toEqual([
      ...['RUN_STARTED', 'TOOL_CALL_START', 'TOOL_CALL_END', 'TOOL_RESULT SUCCESS', 'TEXT_DELTA', 'RUN_FINISHED'],
      'STATUS success',
    ]);
    expect(rest[0]!.seq).toBeGreaterThan(seen.at(-1)!.seq);
    expect((await events.next()).done).toBe(true);
    expect(await ask(there, `/${taskId}/wait?timeout_seconds=120`)).toEqual({
      status: 200,
      body: { status: 'success', state: 'succeeded', result: 'decided' },
    });
    expect(await ask(there, `/${taskId}/resume`, { body })).toEqual({
      status: 409,
      body: { error: `task is not awaiting confirmation: ${taskId}` },
    });
  });

  it('leaves the call out when it is denied, by nothing but the lack of an approval, and says so', async () => {
    const { taskId, events } = await paused();
    await ask(there, `/${taskId}/resume`, { body: { decisions: [{ toolCallId: 'call_1', approved: 1 }] } });
    const rest = await readTo(events, 'success');
    const tools = rest.filter(({ type }) => type.startsWith('TOOL'));
    expect(tools.map(({ type, status = '' }) => `${type} ${status}`.trim())).toEqual([
      ...['TOOL_CALL_START', 'TOOL_CALL_END', 'TOOL_RESULT DENIED'],
    ]);
    expect(JSON.parse(tools.at(-1)!.payload!)).toMatchObject({ type: 'TOOL_RESULT_END', state: 'denied' });
  });

  it('is over for good when it is cancelled, which its stream says before it ends', async () => {
    const { taskId, events } = await paused();
    const cancelled = await knock(there, `/${taskId}/cancel`, { method: 'POST' });
    expect([cancelled.status, await textOf(cancelled.response)]).toEqual([200, '']);
    expect((await readTo(events, 'cancelled')).map(({ type }) => type)).toEqual(['STATUS']);
    expect((await events.next()).done).toBe(true);
    const { status } = await ask(there, `/${taskId}/resume`, { body: { decisions: [] } });
    expect(status).toBe(409);
    expect((await ask(here, `/${taskId}`)).body).toEqual({ task_id: taskId, status: 'cancelled', state: 'cancelled' });
    expect((await ask(there, `/${taskId}/cancel`, { method: 'POST' })).status).toBe(200);
  });
});

describe('a task', () => {
  it('is submitted once, however often it is sent, and never again once it has ended', async () => {
    const taskId = newId();
    const body = submission(taskId, 'Go on.', { agent_id: 'endless' });
    await Promise.all([ask(here, '', { body }), ask(there, '', { body })]);
    expect((await ask(there, '', { body })).body).toMatchObject({ task_id: taskId, status: 'pending' });
    expect((await ask(there, '', { body: { ...body, input: 'Something else.' } })).status).toBe(409);
    await until(async () => (await ask(there, `/${taskId}`)).body['status'] === 'running');
    await ask(here, `/${taskId}/cancel`, { method: 'POST' });
    expect(await ask(there, `/${taskId}/wait`)).toEqual({
      status: 200,
      body: { status: 'cancelled', state: 'cancelled' },
    });
    expect(await ask(here, '', { body })).toEqual({ status: 409, body: { error: `task already finished: ${taskId}` } });
  });

  it('that fails says why in one line, to those who stream, poll and wait', async () => {
    const taskId = newId();
    await ask(here, '', { body: submission(taskId, JSON.stringify([{ throw: { kind: 'budget' } }])) });
    const events = await all(await openEvents(there, taskId));
    const error = events.at(-1)!['error'];
    expect(error).toMatch(/^budget_exceeded: /);
    expect(plain(events.slice(-1))).toEqual([
      { taskId, agentId: 'scripted', type: 'RUN_ERROR', status: 'error', error },
    ]);
    const failed = { status: 'error', state: 'failed', error };
    expect((await ask(here, `/${taskId}`)).body).toEqual({ task_id: taskId, ...failed });
    expect((await ask(here, `/${taskId}/wait`)).body).toEqual(failed);
  });

  it('gives a long result whole, as its parent acts on what it reads', async () => {
    const taskId = newId();
    const long = `${'word '.repeat(4_000)}end`;
    await ask(here, '', { body: submission(taskId, JSON.stringify([{ result: long }])) });
    const { body } = await ask(there, `/${taskId}/wait?timeout_seconds=120`);
    expect(body['result']).toBe(long);
  });

  it('may be waited for in vain, which is never taken for its result', async () => {
    const taskId = newId();
    await ask(here, '', { body: submission(taskId, 'Go on.', { agent_id: 'endless' }) });
    const { body } = await ask(there, `/${taskId}/wait?timeout_seconds=1`);
    expect(body).toEqual({
      ...{ status: 'error', state: expect.stringMatching(/queued|running/) },
      ...{ error: 'wait timeout after 1000 ms', timed_out: true },
    });
    await ask(here, `/${taskId}/cancel`, { method: 'POST' });
  });

  it('that is unknown is told as one that failed, with an honest status', async () => {
    const error = 'task not found';
    expect(await ask(here, '/nothing')).toEqual({ status: 404, body: { task_id: 'nothing', status: 'error', error } });
    expect(await ask(here, '/nothing/wait')).toEqual({ status: 404, body: { status: 'error', error } });
    expect(await ask(here, '/nothing/resume', { body: {} })).toEqual({ status: 404, body: { error } });
    expect(await ask(here, '/nothing/cancel', { method: 'POST' })).toEqual({ status: 404, body: { error } });
  });

  it('is refused in one line that says where', async () => {
    const tell = async (body: unknown): Promise<unknown> => {
      const { status, body: told } = await ask(here, '', { body });
      return [status, told['error']];
    };
    expect(await tell({ input: 'x' })).toEqual([400, 'task_id is required']);
    expect(await tell({ task_id: ' ', input: 'x' })).toEqual([400, 'task_id is required']);
    expect(await tell({ task_id: 'a/b', input: 'x' })).toEqual([400, expect.stringMatching(/^\/task_id: /)]);
    expect(await tell(submission(newId(), 'x', { agent_id: 'nobody' }))).toEqual([422, expect.any(String)]);
    const rule = { rule_content: 'rm *', behavior: 'DENY' };
    const context = { deny_rules: [rule] };
    expect(await tell(submission(newId(), 'x', { context }))).toEqual([
      400,
      expect.stringMatching(/^\/context\/deny_rules\/0\/tool_name: /),
    ]);
    expect((await ask({ ...here, key: 'swy_none' }, '/nothing')).body).toEqual({ error: expect.any(String) });
  });

  it('may not use what its parent denies, by whatever rule names it', async () => {
    const taskId = newId();
    const deny_rules = [{ tool_name: 'summarise', rule_content: 'rm *', behavior: 'DENY', source: 'parent' }];
    const context = { detail: 'status', deny_rules };
    const { body } = await ask(here, '', { body: submission(taskId, 'Go on.', { agent_id: 'caller', context }) });
    expect(body['warnings']).toMatchObject([{ path: '/context/deny_rules/0/rule_content', code: 'whole_tool_denied' }]);
    const events = await all(await openEvents(there, taskId));
    expect(events.find(({ type }) => type === 'TOOL_RESULT')).toMatchObject({
      toolName: 'summarise',
      status: 'DENIED',
    });
  });
});

describe('a plain caller', () => {
  it('may send an object and a type, and finds files and capabilities', async () => {
    const taskId = newId();
    const script = [{ artifact: { name: 'made.txt', text: 'made' } }, { result: 'Made.' }];
    await ask(here, '', { body: { task_id: taskId, type: 'script', input: { script } } });
    expect((await ask(there, `/${taskId}/wait`)).body).toMatchObject({ status: 'success', state: 'succeeded' });
    const { artifacts } = (await ask(there, `/${taskId}/artifacts`)).body as {
      artifacts: { artifact_id: string; download_url: string }[];
    };
    expect(artifacts).toMatchObject([{ name: 'made.txt', size: 4 }]);
    expect(await (await fetch(artifacts[0]!.download_url)).text()).toBe('made');
    const one = await ask(there, `/${taskId}/artifacts/${artifacts[0]!.artifact_id}`);
    expect(one.body).toMatchObject({ name: 'made.txt' });
    const { body } = await call(`${here.url}/agents/supervised/capabilities`);
    expect(body).toMatchObject({ agent_id: 'supervised', pause: true, resume: true, cancel: true });
  });

  it('may send scalars for texts, and nothing for the input', async () => {
    const numbered = Number(newId().slice(-12)) + 90_000;
    const { body } = await ask(here, '', { body: { task_id: numbered, agent_id: 'scripted', input: 7, other: [] } });
    expect(body['task_id']).toBe(String(numbered));
    expect((await ask(there, `/${numbered}/wait`)).body['result']).toBe('7');
  });
});

describe('a gateway on which people answer elsewhere, that streams nothing and answers like the original', () => {
  let apart: Place;

  beforeAll(async () => {
    const { url } = await installation.addGateway({
      ...{ AGENTSCOPE_HITL: 'false', AGENTSCOPE_STREAMING: 'false' },
      ...{ AGENTSCOPE_STRICT: 'true', AGENTSCOPE_STREAM_SECONDS: '1' },
    });
    apart = { url, key: ADMIN_KEY };
  });

  it('shows a task that waits as one that goes on, waits no longer than it may, and takes no answer', async () => {
    const taskId = newId();
    await ask(apart, '', { body: submission(taskId, 'Go on.', { agent_id: 'supervised' }) });
    await call(`${here.url}/v1/tasks/${taskId}/wait`);
    const running = { status: 'running', state: 'running' };
    expect((await ask(apart, `/${taskId}`)).body).toEqual({ task_id: taskId, ...running });
    expect((await ask(apart, `/${taskId}/wait?timeout_seconds=0`)).body).toEqual({
      ...{ status: 'error', state: 'running', error: 'wait timeout after 1000 ms', timed_out: true },
    });
    const body = { decisions: [{ toolCallId: 'call_1', approved: true }] };
    expect(await ask(apart, `/${taskId}/resume`, { body })).toEqual({
      ...{ status: 409, body: { error: 'HITL is disabled on this server' } },
    });
    expect((await ask(here, `/${taskId}/resume`, { body })).status).toBe(200);
    expect((await ask(here, `/${taskId}/wait`)).body['status']).toBe('success');
  });

  it('has no streams, in words that no client takes for a task that is gone', async () => {
    const { status, response } = await knock(apart, '/nothing/events', { headers: { accept: 'text/event-stream' } });
    expect([status, await textOf(response)]).toEqual([501, '{"error":"streaming is disabled"}']);
  });

  it('tells what is unknown as the original does', async () => {
    const error = 'task not found';
    expect(await ask(apart, '/nothing')).toEqual({ status: 200, body: { task_id: 'nothing', status: 'error', error } });
    expect((await ask(apart, '/nothing/cancel', { method: 'POST' })).status).toBe(200);
  });
});
