import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AgentCard, StreamResponse, TaskState } from '@a2a-js/sdk';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { testRedisUrl } from '../support/redis.js';
import {
  allOf,
  type Binding,
  clientOf,
  dataPart,
  messageOf,
  requestOf,
  stateName,
  taskIn,
  tellOf,
  textIn,
} from './a2a.clients.js';
import { until } from '../support/until.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';
import type { Place } from './drivers/driver.js';

let database: TestDatabase;
let installation: Installation;
let receiver: WebhookReceiver;
let here: Place;
let there: Place;
/** Of somebody of the tenant who reaches the tasks of all, and of one who may only look. */
let colleague: string;
let readsOnly: string;

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  database = await createDatabase();
  installation = await Installation.start({
    databaseUrl: database.url,
    redisUrl: testRedisUrl(),
    gateways: 2,
    runtimes: 1,
    env: {
      AGENTS_FILE: path.resolve('test/interop/agents.yaml'),
      A2A_BLOCKING_SECONDS: '5',
      OUTBOUND_ALLOW: `webhook=${new URL(receiver.url).host}`,
      WEBHOOK_RETRY_SECONDS: '1,1',
    },
  });
  const reads = ['tasks:read', 'tasks:all'] as const;
  const keys = await createKeys(database.url, {
    colleague: { principal: 'bob', scopes: [...reads, 'webhooks:read', 'agents:read'] },
    readsOnly: { principal: 'eve', scopes: [...reads] },
  });
  ({ colleague, readsOnly } = keys);
  [here, there] = installation.gateways.map(({ url }) => ({ url, key: ADMIN_KEY })) as [Place, Place];
}, 120_000);

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
  await receiver?.close();
});

const STORY = JSON.stringify([
  { event: { type: 'message.started', payload: { message_id: 'm1', role: 'assistant' } } },
  { event: { type: 'message.delta', payload: { message_id: 'm1', text: 'The trams ' } } },
  { event: { type: 'message.delta', payload: { message_id: 'm1', text: 'run again.' } } },
  { artifact: { name: 'plan.txt', text: 'a plan' } },
  { result: { text: 'The trams run again.', data: { trams: 2 }, metadata: { model: 'scripted' } }, message_id: 'm1' },
]);

const BINDINGS: readonly Binding[] = ['JSONRPC', 'HTTP+JSON'];

describe.each(BINDINGS)('the client of the SDK over %s', (binding) => {
  it('is answered with the task when it has ended, its outputs as artifacts', async () => {
    const client = await clientOf(here, 'scripted', binding);
    const message = messageOf(STORY, { contextId: 'ctx-1' });
    const task = taskIn(await client.sendMessage(requestOf(message)));
    expect(stateName(task.status?.state)).toBe('COMPLETED');
    expect(task.contextId).toBe('ctx-1');
    expect(textIn(task)).toBe('The trams run again.');
    expect(task.artifacts.map(({ name }) => name).sort()).toEqual(['', 'plan.txt', 'result']);
    expect(task.history.map(({ messageId, parts }) => [messageId, parts[0]?.content])).toEqual([
      [message.messageId, { $case: 'text', value: STORY }],
    ]);
    const [file] = task.artifacts.filter(({ name }) => name === 'plan.txt');
    const link = file!.parts[0]!.content;
    expect(await (await fetch(String(link?.value))).text()).toBe('a plan');
    expect(task).toEqual(await client.getTask({ tenant: '', id: task.id }).then(withoutLinks(task)));
  });

  it('streams the task from its beginning, each change once and in order', async () => {
    const client = await clientOf(here, 'scripted', binding);
    const updates = await allOf(client.sendMessageStream(requestOf(messageOf(STORY))));
    const told = updates.map(tellOf);
    // Pieces that wait for each other are written as one.
    const pieces = told.slice(2).findIndex((each) => !each.startsWith('artifact'));
    expect([told[0], told[1], told.at(-1)]).toEqual(['task SUBMITTED', 'status WORKING', 'status COMPLETED']);
    expect(
      told
        .slice(2, 2 + pieces)
        .join('')
        .replaceAll(/artifact \+?/g, ''),
    ).toBe('The trams run again....');
    const places = updates.flatMap(({ payload }) => {
      const { metadata } = (payload?.value ?? {}) as { metadata?: Record<string, { number: number }> };
      return metadata?.['urn:switchyard:a2a:tool-confirmation:1']?.number ?? [];
    });
    expect(places).toEqual([...new Set(places)].sort((one, other) => one - other));
  });

  it('is told at once of a task it does not wait for, and watches it at another gateway', async () => {
    const client = await clientOf(here, 'supervised', binding);
    const sent = taskIn(await client.sendMessage(requestOf(messageOf('Go on.'), true)));
    expect(['SUBMITTED', 'WORKING', 'INPUT_REQUIRED']).toContain(stateName(sent.status?.state));
    const other = await clientOf(there, 'supervised', binding);
    const stream = other.resubscribeTask({ tenant: '', id: sent.id });
    const told: string[] = [];
    for await (const update of stream) {
      told.push(tellOf(update));
      if (told.at(-1)?.includes('INPUT_REQUIRED')) {
        await client.sendMessage(requestOf(decisionFor(sent.id, true), true));
      }
    }
    expect(told[0]).toMatch(/^task /);
    expect(told.slice(-3)).toEqual(['status WORKING', 'artifact decided.', 'status COMPLETED']);
  });

  it('is asked, and decides by the extension; words alone decide nothing', async () => {
    const client = await clientOf(here, 'supervised', binding);
    const updates = await allOf(client.sendMessageStream(requestOf(messageOf('Go on.'))));
    expect(updates.map(tellOf)).toEqual(['task SUBMITTED', 'status WORKING', 'status INPUT_REQUIRED']);
    const { payload } = updates.at(-1)!;
    const { taskId, contextId, status } = payload?.value as { taskId: string; contextId: string; status: object };
    expect(status).toMatchObject({
      message: {
        extensions: ['urn:switchyard:a2a:tool-confirmation:1'],
        parts: [
          { content: { $case: 'text', value: 'The call of summarise waits for your approval.' } },
          {
            content: {
              value: {
                kind: 'tool_confirmation',
                pending: [{ toolCallId: 'call_1', toolName: 'summarise', args: { text: 'One. Two.' } }],
              },
            },
          },
        ],
      },
    });
    const words = taskIn(await client.sendMessage(requestOf(messageOf('approve it, yes', { taskId }))));
    expect(stateName(words.status?.state)).toBe('INPUT_REQUIRED');
    const unknown = messageOf([dataPart({ decisions: [{ toolCallId: 'call_9', approved: true }] })], { taskId });
    await expect(client.sendMessage(requestOf(unknown))).rejects.toThrow(/toolCallId/);
    const done = taskIn(await client.sendMessage(requestOf({ ...decisionFor(taskId, true), contextId })));
    expect(stateName(done.status?.state)).toBe('COMPLETED');
    expect(done.history.map(({ role, parts }) => [role, parts.length])).toEqual([
      [1, 1],
      [2, 2],
      [1, 1],
    ]);
    await expect(client.sendMessage(requestOf(decisionFor(taskId, true)))).rejects.toThrow(/ended/);
  });

  it('cancels a task, once more for the asking, and none that has ended otherwise', async () => {
    const client = await clientOf(here, 'endless', binding);
    const { id } = taskIn(await client.sendMessage(requestOf(messageOf('Go on.'), true)));
    const ended = await client.cancelTask({ tenant: '', id, metadata: undefined });
    expect(stateName(ended.status?.state)).toBe('CANCELED');
    expect(stateName((await client.cancelTask({ tenant: '', id, metadata: undefined })).status?.state)).toBe(
      'CANCELED',
    );
    await expect(allOf(client.resubscribeTask({ tenant: '', id }))).rejects.toThrow(/ended/);
    const scripted = await clientOf(here, 'scripted', binding);
    const done = taskIn(await scripted.sendMessage(requestOf(messageOf('said'))));
    const again = scripted.cancelTask({ tenant: '', id: done.id, metadata: undefined });
    await expect(again).rejects.toMatchObject({ name: 'TaskNotCancelableError' });
    await expect(client.getTask({ tenant: '', id: done.id })).rejects.toMatchObject({ name: 'TaskNotFoundError' });
  });

  it('sends the same message twice and has one task; another under its id is refused', async () => {
    const client = await clientOf(here, 'scripted', binding);
    const message = messageOf('said once');
    const first = taskIn(await client.sendMessage(requestOf(message)));
    const other = await clientOf(there, 'scripted', binding);
    expect(taskIn(await other.sendMessage(requestOf(message))).id).toBe(first.id);
    const changed = messageOf('said otherwise', { messageId: message.messageId });
    await expect(client.sendMessage(requestOf(changed))).rejects.toMatchObject({ name: 'RequestMalformedError' });
  });

  it('lists its tasks, those first whose state changed last, page by page and by what is asked', async () => {
    const client = await clientOf(here, 'scripted', binding);
    const contextId = `list-${binding}`;
    const ids: string[] = [];
    for (const text of ['one', 'two', 'three'])
      ids.push(taskIn(await client.sendMessage(requestOf(messageOf(text, { contextId })))).id);
    const ask = { ...LIST, contextId, pageSize: 2 };
    const first = await client.listTasks(ask);
    expect(first.tasks.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    expect(first).toMatchObject({ totalSize: 3, pageSize: 2 });
    expect(first.tasks[0]).toMatchObject({ artifacts: [], history: [{ messageId: expect.any(String) }] });
    const second = await client.listTasks({
      ...ask,
      pageToken: first.nextPageToken,
      includeArtifacts: true,
      historyLength: 0,
    });
    expect(second).toMatchObject({ nextPageToken: '', totalSize: 3, tasks: [{ id: ids[0], history: [] }] });
    expect(textIn(second.tasks[0]!)).toBe('one');
    const since = first.tasks[0]!.status!.timestamp;
    const states = { ...ask, status: TaskState.TASK_STATE_COMPLETED, statusTimestampAfter: since };
    expect((await client.listTasks(states)).tasks.map(({ id }) => id)).toEqual([ids[2]]);
    expect(await client.listTasks({ ...ask, status: TaskState.TASK_STATE_INPUT_REQUIRED })).toMatchObject({
      tasks: [],
      totalSize: 0,
    });
    await expect(client.listTasks({ ...ask, pageSize: 101 })).rejects.toMatchObject({ name: 'RequestMalformedError' });
  });

  it('is notified of each change, in order, with what it asked to be sent along', async () => {
    const client = await clientOf(here, 'supervised', binding);
    const path = `/a2a-${binding.replace('+', '-')}`;
    let isDown = true;
    receiver.on(path, () => (isDown ? ((isDown = false), 503) : 204));
    const request = requestOf(messageOf('Go on.'), true);
    request.configuration!.taskPushNotificationConfig = {
      ...CONFIG,
      url: `${receiver.url}${path}`,
      token: 'the-token',
      authentication: { scheme: 'Bearer', credentials: 'the-secret' },
    };
    const { id } = taskIn(await client.sendMessage(request));
    const told = (): string[] =>
      receiver
        .at(path)
        .slice(1)
        .map(({ text }) => tellOf(StreamResponse.fromJSON(JSON.parse(text))));
    await until(() => told().includes('status INPUT_REQUIRED'), { timeoutMs: 20_000 });
    await client.sendMessage(requestOf(decisionFor(id, true), true));
    await until(() => told().includes('status COMPLETED'), { timeoutMs: 20_000 });
    expect(told()).toEqual([
      'status WORKING',
      'status INPUT_REQUIRED',
      'status WORKING',
      'artifact decided.',
      'status COMPLETED',
    ]);
    const [failed, again] = receiver.at(path);
    expect(again).toMatchObject({
      id: failed!.id,
      text: failed!.text,
      headers: {
        'content-type': 'application/a2a+json',
        authorization: 'Bearer the-secret',
        'x-a2a-notification-token': 'the-token',
        'webhook-signature': expect.stringMatching(/^v1,/),
      },
    });
  });

  it('keeps configs, shows what they send along to their maker only, and goes nowhere it may not', async () => {
    const client = await clientOf(here, 'scripted', binding);
    const { id: taskId } = taskIn(await client.sendMessage(requestOf(messageOf('said'))));
    const config = { ...CONFIG, taskId, id: 'one', url: `${receiver.url}/never`, token: 'the-token' };
    expect(await client.createTaskPushNotificationConfig(config)).toEqual(config);
    expect((await client.createTaskPushNotificationConfig({ ...config, id: '' })).id).not.toBe('');
    const { configs } = await client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 0, pageToken: '' });
    expect(configs.map(({ token }) => token)).toEqual(['the-token', 'the-token']);
    const one = { tenant: '', taskId, id: 'one' };
    expect(await client.getTaskPushNotificationConfig(one)).toEqual(config);
    const other = await clientOf({ url: here.url, key: colleague }, 'scripted', binding);
    expect(await other.getTaskPushNotificationConfig(one)).toEqual({ ...config, token: '' });
    await client.deleteTaskPushNotificationConfig(one);
    await client.deleteTaskPushNotificationConfig(one);
    await expect(client.getTaskPushNotificationConfig(one)).rejects.toMatchObject({ name: 'TaskNotFoundError' });
    const inside = { ...config, url: 'http://169.254.169.254/' };
    await expect(client.createTaskPushNotificationConfig(inside)).rejects.toThrow(/url/);
    const header = { ...config, token: 'a\r\nx: y' };
    await expect(client.createTaskPushNotificationConfig(header)).rejects.toThrow(/token/);
    expect(receiver.at('/never')).toEqual([]);
  });

  it('gets the extended card, with what only callers are told', async () => {
    const client = await clientOf(here, 'supervised', binding);
    const card = await client.getAgentCard();
    expect(card.skills.map(({ id }) => id)).toEqual(['supervised', 'summarise']);
  });
});

describe('a client', () => {
  it('is kept waiting for no longer than it is told', async () => {
    const client = await clientOf(here, 'endless');
    const task = taskIn(await client.sendMessage(requestOf(messageOf('Go on.'))));
    expect(stateName(task.status?.state)).toBe('WORKING');
    await client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
  });

  it('that sends its answer twice, to two gateways, has given it once', async () => {
    const client = await clientOf(here, 'supervised');
    const sent = taskIn(await client.sendMessage(requestOf(messageOf('Go on.'))));
    const answer = decisionFor(sent.id, true);
    const other = await clientOf(there, 'supervised');
    const answered = await Promise.all([client, other, client].map((each) => each.sendMessage(requestOf(answer))));
    expect(answered.map((task) => stateName(taskIn(task).status?.state))).toEqual([
      'COMPLETED',
      'COMPLETED',
      'COMPLETED',
    ]);
    const done = await client.getTask({ tenant: '', id: sent.id });
    expect(done.history.at(-1)).toMatchObject({ messageId: answer.messageId, role: 1 });
    const changed = { ...decisionFor(sent.id, false), messageId: answer.messageId };
    await expect(client.sendMessage(requestOf(changed))).rejects.toThrow(/used before/);
  });

  it('may do what its key says: each operation asks for more than to be let in', async () => {
    const reader = await clientOf({ url: here.url, key: readsOnly }, 'supervised');
    await expect(reader.sendMessage(requestOf(messageOf('Go on.')))).rejects.toThrow(/tasks:submit/);
    const client = await clientOf(here, 'supervised');
    const { id } = taskIn(await client.sendMessage(requestOf(messageOf('Go on.'))));
    await expect(reader.sendMessage(requestOf(decisionFor(id, true)))).rejects.toThrow(/tasks:decide/);
    await expect(reader.cancelTask({ tenant: '', id, metadata: undefined })).rejects.toThrow(/tasks:cancel/);
    const config = { ...CONFIG, taskId: id, url: receiver.url };
    await expect(reader.createTaskPushNotificationConfig(config)).rejects.toThrow(/webhooks:write/);
    const wanted = { tenant: '', taskId: id, id: 'one' };
    await expect(reader.getTaskPushNotificationConfig(wanted)).rejects.toThrow(/webhooks:read/);
    expect(stateName((await reader.getTask({ tenant: '', id })).status?.state)).toBe('INPUT_REQUIRED');
    await client.cancelTask({ tenant: '', id, metadata: undefined });
  });
});

describe('a request that no client of the SDK makes', () => {
  const send = async (
    path: string,
    body: string | undefined,
    headers: Record<string, string> = {},
  ): Promise<Response> =>
    fetch(`${here.url}/a2a/scripted${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${ADMIN_KEY}`,
        'content-type': 'application/json',
        'a2a-version': '1.0',
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    });
  const rpc = (method: string, params: object): string => JSON.stringify({ jsonrpc: '2.0', id: 7, method, params });
  const said = { messageId: 'raw', role: 'ROLE_USER', parts: [{ text: 'said' }] };
  const RPC_FAULTS: [string, string, number, Record<string, string>?][] = [
    ['is no JSON', '{', -32700],
    ['is a batch', `[${rpc('GetTask', {})}]`, -32602],
    ['names no method there is', rpc('DoTask', {}), -32601],
    ['names a method of 1.0 in 0.3', rpc('GetTask', {}), -32601, { 'a2a-version': '0.3' }],
    ['has another version', rpc('GetTask', { id: 'x' }), -32009, { 'a2a-version': '2.0' }],
    ['has no parts', rpc('SendMessage', { message: { ...said, parts: [] } }), -32602],
    ['has an empty part', rpc('SendMessage', { message: { ...said, parts: [{}] } }), -32602],
    ['is said by nobody', rpc('SendMessage', { message: { ...said, role: 'x' } }), -32602],
    [
      'is not media the agent takes',
      rpc('SendMessage', { message: { ...said, parts: [{ url: 'https://a.example/x', mediaType: 'video/mp4' }] } }),
      -32005,
    ],
    ['is for another tenant', rpc('SendMessage', { tenant: 'other', message: said }), -32602],
    ['answers no task', rpc('SendMessage', { message: { ...said, taskId: 'nothing' } }), -32001],
    ['streams to nobody', rpc('SubscribeToTask', { id: 'nothing' }), -32001],
  ];

  it.each(RPC_FAULTS)('%s is told so in JSON-RPC', async (...[, body, code, headers]) => {
    const response = await send('/jsonrpc', body, headers);
    expect(response.status).toBe(200);
    const answer = (await response.json()) as { id: unknown; error: { code: number; data?: { '@type': string }[] } };
    // What could not be read has no id that could be repeated.
    const id = body.startsWith('{"') ? 7 : null;
    expect(answer).toMatchObject({ jsonrpc: '2.0', id, error: { code } });
  });

  it('is told so over HTTP as well, by status and reason', async () => {
    const faults: [string, string | undefined, number, string, Record<string, string>?][] = [
      ['/rest/message:send', JSON.stringify({ message: { ...said, parts: [] } }), 400, 'INVALID_PARAMS'],
      ['/rest/message:send', '{', 400, 'PARSE_ERROR'],
      ['/rest/message:send', 'said', 400, 'CONTENT_TYPE_NOT_SUPPORTED', { 'content-type': 'text/plain' }],
      [
        '/rest/message:send',
        JSON.stringify({ message: { ...said, parts: [{ text: 'x'.repeat(1_100_000) }] } }),
        413,
        'PAYLOAD_TOO_LARGE',
      ],
      ['/rest/tasks/nothing', undefined, 404, 'TASK_NOT_FOUND'],
      ['/rest/tasks?pageSize=0', undefined, 400, 'INVALID_PARAMS'],
      ['/rest/tasks', undefined, 400, 'VERSION_NOT_SUPPORTED', { 'a2a-version': '1.7' }],
      ['/rest/nothing', undefined, 404, 'TASK_NOT_FOUND'],
    ];
    for (const [way, body, status, reason, headers] of faults) {
      const response = await send(way, body, headers);
      const { error } = (await response.json()) as { error: { code: number; details: object[] } };
      expect({ way, status: response.status, code: error.code, info: error.details[0] }).toMatchObject({
        way,
        status,
        code: status,
        info: { reason, domain: 'a2a-protocol.org' },
      });
    }
  });

  it('for an agent that is not there is 404, whatever it asks', async () => {
    const response = await fetch(`${here.url}/a2a/nobody/jsonrpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
      body: rpc('tasks/get', { id: 'x' }),
    });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ id: 7, error: { code: -32000 } });
  });

  it('leaves its stream, which ends here and leaves the task alone', async () => {
    const client = await clientOf(here, 'endless');
    const { id } = taskIn(await client.sendMessage(requestOf(messageOf('Go on.'), true)));
    const before = await openStreams();
    const leaving = new AbortController();
    const response = await fetch(`${here.url}/a2a/endless/rest/tasks/${id}:subscribe`, {
      headers: { authorization: `Bearer ${ADMIN_KEY}` },
      signal: leaving.signal,
    });
    expect(response.status).toBe(200);
    await until(async () => (await openStreams()) === before + 1);
    leaving.abort();
    await until(async () => (await openStreams()) === before);
    expect(stateName((await client.getTask({ tenant: '', id })).status?.state)).toBe('WORKING');
    await client.cancelTask({ tenant: '', id, metadata: undefined });
  });
});

describe('the card', () => {
  it('is there for everybody, in the form the asker speaks', async () => {
    const url = `${here.url}/a2a/supervised/.well-known/agent-card.json`;
    const plain = await fetch(url);
    expect(plain.headers.get('cache-control')).toBe('public, max-age=60');
    const hybrid = (await plain.json()) as Record<string, unknown>;
    expect(hybrid).toMatchObject({
      protocolVersion: '0.3',
      preferredTransport: 'JSONRPC',
      url: `${here.url}/a2a/supervised/jsonrpc`,
    });
    const response = await fetch(url, { headers: { 'a2a-version': '1.0' } });
    const json = (await response.json()) as object;
    expect(AgentCard.toJSON(AgentCard.fromJSON(json))).toEqual(json);
    expect(json).toMatchObject({
      securitySchemes: {
        bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
        apiKey: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
      },
    });
    const again = await fetch(url, {
      headers: { 'a2a-version': '1.0', 'if-none-match': response.headers.get('etag')! },
    });
    expect(again.status).toBe(304);
    expect(((await (await fetch(`${here.url}/.well-known/agent-card.json`)).json()) as { name: string }).name).toBe(
      'scripted',
    );
    expect((await fetch(`${here.url}/a2a/nobody/.well-known/agent-card.json`)).status).toBe(404);
    const { body } = await call(`${here.url}/a2a`);
    expect((body['agents'] as { id: string }[]).map(({ id }) => id)).toEqual(
      expect.arrayContaining(['endless', 'scripted', 'supervised']),
    );
  });
});

const CONFIG = { tenant: '', id: '', taskId: '', url: '', token: '', authentication: undefined };

const LIST = {
  tenant: '',
  contextId: '',
  status: TaskState.TASK_STATE_UNSPECIFIED,
  pageToken: '',
  statusTimestampAfter: undefined,
  includeArtifacts: undefined,
};

/** Streams that the first gateway has open. */
async function openStreams(): Promise<number> {
  const response = await fetch(`${here.url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } });
  return Number(/^switchyard_streams_open(?:\{[^}]*\})? (\d+)/m.exec(await response.text())?.[1]);
}

function decisionFor(taskId: string, approved: boolean): ReturnType<typeof messageOf> {
  return messageOf([dataPart({ decisions: [{ toolCallId: 'call_1', approved }] })], { taskId });
}

/** Links are signed anew each time. */
function withoutLinks<T extends { artifacts: { parts: { content?: { $case: string } | undefined }[] }[] }>(
  model: T,
): (task: T) => T {
  return (task) => ({
    ...task,
    artifacts: task.artifacts.map((artifact, index) => ({
      ...artifact,
      parts: artifact.parts.map((part, place) =>
        part.content?.$case === 'url' ? model.artifacts[index]!.parts[place]! : part,
      ),
    })),
  });
}
