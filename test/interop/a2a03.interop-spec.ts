import path from 'node:path';
import type { Message, Task } from 'a2a03';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from 'a2a03/client';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, Installation } from '../support/installation.js';
import { testRedisUrl } from '../support/redis.js';
import { until } from '../support/until.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';
import { allOf, type Binding, fetchAs } from './a2a.clients.js';

let database: TestDatabase;
let installation: Installation;
let receiver: WebhookReceiver;
let here: string;
let there: string;

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
      OUTBOUND_ALLOW: `webhook=${new URL(receiver.url).host}`,
    },
  });
  [here, there] = installation.gateways.map(({ url }) => url) as [string, string];
}, 120_000);

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
  await receiver?.close();
});

/** The last client before 1.0, made of the agent's card. */
function clientOf(url: string, agentId: string, binding: Binding): Promise<Client> {
  const options = { fetchImpl: fetchAs(ADMIN_KEY) };
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
    preferredTransports: [binding],
    cardResolver: new DefaultAgentCardResolver(options),
  });
  return factory.createFromUrl(`${url}/a2a/${agentId}/.well-known/agent-card.json`, '');
}

let count = 0;

function messageOf(parts: string | Message['parts'], more: Partial<Message> = {}): Message {
  count += 1;
  const said: Message['parts'] = typeof parts === 'string' ? [{ kind: 'text', text: parts }] : parts;
  return { kind: 'message', messageId: `old-${process.pid}-${count}`, role: 'user', parts: said, ...more };
}

function decisionFor(taskId: string): Message {
  return messageOf([{ kind: 'data', data: { decisions: [{ toolCallId: 'call_1', approved: true }] } }], { taskId });
}

type Update = Awaited<ReturnType<ReturnType<Client['sendMessageStream']>['next']>>['value'];

function tellOf(update: Update): string {
  const { kind } = update as { kind: string };
  const { status, artifact, final } = update as Partial<{
    status: { state: string };
    artifact: { parts: { text?: string }[] };
    final: boolean;
  }>;
  if (artifact) return `artifact ${artifact.parts.map(({ text }) => text).join('')}`;
  return `${kind} ${status?.state}${final ? ' final' : ''}`;
}

describe.each<Binding>(['JSONRPC', 'HTTP+JSON'])('the client of 0.3 over %s', (binding) => {
  it('sends, waits, and reads the same task again', async () => {
    const client = await clientOf(here, 'scripted', binding);
    const message = messageOf('said', { contextId: `old-${binding}` });
    const task = (await client.sendMessage({ message, configuration: { blocking: true } })) as Task;
    expect(task).toMatchObject({
      kind: 'task',
      contextId: `old-${binding}`,
      status: { state: 'completed' },
      artifacts: [{ parts: [{ kind: 'text', text: 'said' }] }],
      history: [{ messageId: message.messageId, role: 'user' }],
    });
    expect(await client.getTask({ id: task.id })).toEqual(task);
    expect((await client.getTask({ id: task.id, historyLength: 0 })).history ?? []).toEqual([]);
  });

  it('streams, is asked, decides, and goes on at another gateway', async () => {
    const client = await clientOf(here, 'supervised', binding);
    const updates = await allOf(client.sendMessageStream({ message: messageOf('Go on.') }));
    expect(updates.map(tellOf)).toEqual(['task submitted', 'status-update working', 'status-update input-required']);
    const { id } = updates[0] as Task;
    const other = await clientOf(there, 'supervised', binding);
    const told: string[] = [];
    for await (const update of other.resubscribeTask({ id })) {
      told.push(tellOf(update));
      if (told.length === 1) await client.sendMessage({ message: decisionFor(id), configuration: { blocking: false } });
    }
    expect(told).toEqual([
      'task input-required',
      'status-update working',
      'artifact decided',
      'status-update completed final',
    ]);
  });

  it('cancels, and is told what cannot be', async () => {
    const client = await clientOf(here, 'endless', binding);
    const { id } = (await client.sendMessage({
      message: messageOf('Go on.'),
      configuration: { blocking: false },
    })) as Task;
    expect((await client.cancelTask({ id })).status.state).toBe('canceled');
    await expect(client.getTask({ id: 'nothing' })).rejects.toThrow(/task not found|no such task/i);
    await expect(allOf(client.resubscribeTask({ id: 'nothing' }))).rejects.toThrow(/task not found|no such task/i);
    await expect(client.sendMessage({ message: messageOf([]) })).rejects.toThrow(/parts/);
  });

  it('is notified in the words of 0.3', async () => {
    const client = await clientOf(here, 'scripted', binding);
    const way = `/old-${binding.replace('+', '-')}`;
    const pushNotificationConfig = { id: 'mine', url: `${receiver.url}${way}`, token: 'the-token' };
    const sent = await client.sendMessage({
      message: messageOf('said'),
      configuration: { blocking: true, pushNotificationConfig },
    });
    await until(() => receiver.at(way).length === 3, { timeoutMs: 20_000 });
    const bodies = receiver.at(way).map(({ text }) => JSON.parse(text) as Update);
    expect(bodies.map(tellOf)).toEqual(['status-update working', 'artifact said', 'status-update completed final']);
    expect(receiver.at(way)[0]!.headers).toMatchObject({
      'content-type': 'application/json',
      'x-a2a-notification-token': 'the-token',
    });
    const { id: taskId } = sent as Task;
    const config = { taskId, pushNotificationConfig };
    const wanted = { id: taskId, pushNotificationConfigId: 'mine' };
    expect(await client.getTaskPushNotificationConfig(wanted)).toEqual(config);
    expect(await client.setTaskPushNotificationConfig(config)).toEqual(config);
    expect(await client.listTaskPushNotificationConfig({ id: taskId })).toEqual([config]);
    await client.deleteTaskPushNotificationConfig({ id: taskId, pushNotificationConfigId: 'mine' });
    expect(await client.listTaskPushNotificationConfig({ id: taskId })).toEqual([]);
  });
});
