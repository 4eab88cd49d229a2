import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AgentCard, TaskState } from '@a2a-js/sdk';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
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
import type { Place } from './drivers/driver.js';

let database: TestDatabase;
let installation: Installation;
let here: Place;
let there: Place;

beforeAll(async () => {
  database = await createDatabase();
  installation = await Installation.start({
    databaseUrl: database.url,
    redisUrl: testRedisUrl(),
    gateways: 2,
    runtimes: 1,
    env: { AGENTS_FILE: path.resolve('test/interop/agents.yaml'), A2A_BLOCKING_SECONDS: '5' },
  });
  [here, there] = installation.gateways.map(({ url }) => ({ url, key: ADMIN_KEY })) as [Place, Place];
}, 120_000);

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
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

  it('is kept waiting for no longer than it is told', async () => {
    const client = await clientOf(here, 'endless', binding);
    const task = taskIn(await client.sendMessage(requestOf(messageOf('Go on.'))));
    expect(stateName(task.status?.state)).toBe('WORKING');
    await client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
  });

  it('gets the extended card, with what only callers are told', async () => {
    const client = await clientOf(here, 'supervised', binding);
    const card = await client.getAgentCard();
    expect(card.skills.map(({ id }) => id)).toEqual(['supervised', 'summarise']);
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
    const ids = (body['agents'] as { id: string }[]).map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(['endless', 'scripted', 'supervised']));
  });
});

const LIST = {
  tenant: '',
  contextId: '',
  status: TaskState.TASK_STATE_UNSPECIFIED,
  pageToken: '',
  statusTimestampAfter: undefined,
  includeArtifacts: undefined,
};

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
