import { type Message, Role, type SendMessageRequest, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import type { Place } from './drivers/driver.js';

/** The bindings, as cards call them. */
export type Binding = 'JSONRPC' | 'HTTP+JSON';

/** `fetch` with a key. */
export function fetchAs(key: string): typeof fetch {
  return (url, init) => {
    const headers = new Headers(init?.headers);
    headers.set('authorization', `Bearer ${key}`);
    return fetch(url, { ...init, headers });
  };
}

/** The client of the SDK, made of the agent's card. */
export function clientOf({ url, key }: Place, agentId: string, binding: Binding = 'JSONRPC'): Promise<Client> {
  const options = { fetchImpl: fetchAs(key) };
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
    preferredTransports: [binding],
    cardResolver: new DefaultAgentCardResolver(options),
  });
  return factory.createFromUrl(`${url}/a2a/${agentId}/.well-known/agent-card.json`, '');
}

let count = 0;

/** A message of the user, new unless `more` says which. */
export function messageOf(parts: string | Message['parts'], more: Partial<Message> = {}): Message {
  count += 1;
  return {
    messageId: `m-${process.pid}-${count}`,
    contextId: '',
    taskId: '',
    role: Role.ROLE_USER,
    parts: typeof parts === 'string' ? [textPart(parts)] : parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...more,
  };
}

export function textPart(value: string): Message['parts'][number] {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' };
}

export function dataPart(value: unknown): Message['parts'][number] {
  return { content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType: 'application/json' };
}

export function requestOf(message: Message, isQuick = false): SendMessageRequest {
  const configuration = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: isQuick };
  return { tenant: '', message, configuration, metadata: undefined };
}

/** The task that a client sent a message for. */
export function taskIn(result: Message | Task): Task {
  if ('messageId' in result) throw new Error('A message, where a task is due.');
  return result;
}

/** All that artifacts say in words. */
export function textIn({ artifacts }: Pick<Task, 'artifacts'>): string {
  const parts = artifacts.flatMap((artifact) => artifact.parts);
  return parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : [])).join('');
}

/** What an update tells, in short: `task SUBMITTED`, `status WORKING`, `artifact reply`. */
export function tellOf({ payload }: StreamResponse): string {
  switch (payload?.$case) {
    case 'task':
      return `task ${stateName(payload.value.status?.state)}`;
    case 'statusUpdate':
      return `status ${stateName(payload.value.status?.state)}`;
    case 'artifactUpdate': {
      const { artifact, append, lastChunk } = payload.value;
      const words = textIn({ artifacts: artifact ? [artifact] : [] });
      return `artifact ${append ? '+' : ''}${words}${lastChunk ? '.' : ''}`;
    }
    case 'message':
    case undefined:
      return 'message';
  }
}

export function stateName(state: TaskState | undefined): string {
  return TaskState[state ?? TaskState.TASK_STATE_UNSPECIFIED].replace('TASK_STATE_', '');
}

/** Everything a stream gives until its end. */
export async function allOf<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}
