import {
  Message,
  SendMessageRequest,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  type TaskPushNotificationConfig as PushConfig,
  type TaskState,
  type StreamResponse as Update,
} from '@a2a-js/sdk';
import { assertForm } from './request.schema.js';
import { isFinal } from './state.js';

type Json = Readonly<Record<string, unknown>>;

/** HTTP+JSON as 0.3 spelt it (A2A 0.3, "HTTP+JSON/REST Protocol Binding"), from and to the shapes of 1.0. */
export function decodeSend03(body: unknown): SendMessageRequest {
  assertForm('rest03/send', body);
  const sent = objectOf(body);
  const configuration = sent['configuration'] === undefined ? undefined : objectOf(sent['configuration']);
  const push = configuration?.['pushNotification'] ?? configuration?.['pushNotificationConfig'];
  return SendMessageRequest.fromJSON({
    message: decodeMessage03(sent['message'] ?? sent['request']),
    configuration: configuration && {
      ...configuration,
      taskPushNotificationConfig: push === undefined ? undefined : decodePush03(push, ''),
      returnImmediately: configuration['blocking'] !== true,
    },
    metadata: sent['metadata'],
  });
}

function decodeMessage03(value: unknown): Json | undefined {
  if (value === undefined) return undefined;
  const { content, ...message } = objectOf(value);
  return { ...message, parts: Array.isArray(content) ? content.map(decodePart03) : message['parts'] };
}

function decodePart03(value: unknown): Json {
  const { file, data, ...part } = objectOf(value);
  if (data !== undefined) return { data: objectOf(data)['data'] };
  if (file === undefined) return part;
  const { fileWithBytes, fileWithUri, mimeType, name } = objectOf(file);
  return {
    ...(fileWithBytes === undefined ? { url: fileWithUri } : { raw: fileWithBytes }),
    mediaType: mimeType,
    filename: name,
  };
}

/** A config, whose task and id 0.3 kept in a `name`. */
export function decodeConfig03(body: unknown, taskId: string): PushConfig {
  assertForm('rest03/config', body);
  const sent = objectOf(body);
  const name = /^tasks\/[^/]+\/pushNotificationConfigs\/([^/]+)$/.exec(textOf(sent['name']))?.[1];
  const config = decodePush03(sent['pushNotificationConfig'] ?? sent, taskId);
  return { ...config, id: config.id === '' ? (name ?? '') : config.id };
}

function decodePush03(value: unknown, taskId: string): PushConfig {
  const { authentication, ...config } = objectOf(value);
  const { schemes, credentials } = objectOf(authentication);
  const [scheme] = Array.isArray(schemes) ? (schemes as unknown[]) : [];
  return TaskPushNotificationConfig.fromJSON({
    ...config,
    taskId,
    authentication: scheme === undefined ? undefined : { scheme, credentials },
  });
}

export function encodeConfig03(config: PushConfig): Json {
  const { id, url, token, authentication } = TaskPushNotificationConfig.toJSON(config) as Json;
  const { scheme, credentials } = objectOf(authentication);
  return {
    name: `tasks/${config.taskId}/pushNotificationConfigs/${config.id}`,
    pushNotificationConfig: {
      id,
      url,
      ...(token === undefined ? {} : { token }),
      ...(authentication === undefined ? {} : { authentication: { schemes: [scheme], credentials } }),
    },
  };
}

export function encodeTask03(task: Task): Json {
  return encodeTask(Task.toJSON(task) as Json);
}

export function encodeSent03(result: Task | Message): Json {
  return 'messageId' in result
    ? { message: encodeMessage03(Message.toJSON(result) as Json) }
    : { task: encodeTask03(result) };
}

export function encodeUpdate03(update: Update): Json {
  const json = StreamResponse.toJSON(update) as Readonly<Record<string, Json>>;
  const { task, statusUpdate, artifactUpdate } = json;
  if (task) return { task: encodeTask(task) };
  if (artifactUpdate)
    return { artifactUpdate: { ...artifactUpdate, artifact: encodeParts(objectOf(artifactUpdate['artifact'])) } };
  if (!statusUpdate) return json;
  const state = (update.payload?.value as { status?: { state: TaskState } }).status?.state;
  const isEnd = state !== undefined && isFinal(state);
  return {
    statusUpdate: { ...statusUpdate, status: encodeStatus(statusUpdate['status']), ...(isEnd ? { final: true } : {}) },
  };
}

function encodeTask({ status, history, artifacts, ...task }: Json): Json {
  return {
    ...task,
    status: encodeStatus(status),
    ...(Array.isArray(artifacts) ? { artifacts: artifacts.map((one: Json) => encodeParts(one)) } : {}),
    ...(Array.isArray(history) ? { history: history.map((one: Json) => encodeMessage03(one)) } : {}),
  };
}

function encodeStatus(value: unknown): Json {
  const { state, message, ...status } = objectOf(value);
  return {
    state: state === 'TASK_STATE_CANCELED' ? 'TASK_STATE_CANCELLED' : state,
    ...(message === undefined ? {} : { message: encodeMessage03(objectOf(message)) }),
    ...status,
  };
}

function encodeMessage03({ parts, referenceTaskIds: _none, ...message }: Json): Json {
  return { ...message, ...(Array.isArray(parts) ? { content: parts.map((one: Json) => encodePart03(one)) } : {}) };
}

function encodeParts(artifact: Json): Json {
  const { parts } = artifact;
  return { ...artifact, ...(Array.isArray(parts) ? { parts: parts.map((one: Json) => encodePart03(one)) } : {}) };
}

function encodePart03({ text, data, raw, url, mediaType }: Json): Json {
  if (text !== undefined) return { text };
  if (data !== undefined) return { data: { data: isObject(data) ? data : { value: data } } };
  const bytes = raw === undefined ? { fileWithUri: url } : { fileWithBytes: raw };
  return { file: { ...bytes, ...(mediaType === undefined ? {} : { mimeType: mediaType }) } };
}

function objectOf(value: unknown): Json {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
