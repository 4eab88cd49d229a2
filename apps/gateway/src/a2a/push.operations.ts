import type {
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import type { TaskSnapshot } from '#lib/domain';
import { randomUUID } from 'node:crypto';
import { assertScopes } from '../core/caller.js';
import type { PushesService, PushRequest, ShownPush } from '../core/pushes.service.js';
import { type A2aCall, assertTenant } from './calls.js';
import { pushFormat } from './push.encoder.js';
import type { TaskReader } from './task.reader.js';

/** Who is notified of a task (A2A 1.0, "Push Notification Configuration"). */
export class PushOperations {
  constructor(
    private readonly pushes: PushesService,
    private readonly reader: TaskReader,
  ) {}

  async create(call: A2aCall, config: TaskPushNotificationConfig): Promise<TaskPushNotificationConfig> {
    assertScopes(call.caller, 'webhooks:write');
    assertTenant(call, config.tenant);
    const task = await this.reader.find(call, config.taskId);
    // A client of 0.3 that names none may ask for it by its task alone.
    const id = config.id || (call.version === '0.3' ? task.taskId : randomUUID());
    const { caller, requestId } = call;
    return encode(task, await this.pushes.put(caller, task, requestOf(call, { ...config, id }), { requestId }));
  }

  async get(
    call: A2aCall,
    { taskId, id, tenant }: GetTaskPushNotificationConfigRequest,
  ): Promise<TaskPushNotificationConfig> {
    assertScopes(call.caller, 'webhooks:read');
    assertTenant(call, tenant);
    const task = await this.reader.find(call, taskId);
    return encode(task, await this.pushes.get(call.caller, task, id || task.taskId));
  }

  async list(
    call: A2aCall,
    { taskId, tenant }: ListTaskPushNotificationConfigsRequest,
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    assertScopes(call.caller, 'webhooks:read');
    assertTenant(call, tenant);
    const task = await this.reader.find(call, taskId);
    const configs = await this.pushes.list(call.caller, task);
    return { configs: configs.map((config) => encode(task, config)), nextPageToken: '' };
  }

  async remove(call: A2aCall, { taskId, id, tenant }: DeleteTaskPushNotificationConfigRequest): Promise<void> {
    assertScopes(call.caller, 'webhooks:write');
    assertTenant(call, tenant);
    const task = await this.reader.find(call, taskId);
    await this.pushes.remove(call.caller, task, id || task.taskId, call.requestId);
  }

  /** Before the task of a message is taken in: what cannot be made is refused with it. */
  async check(call: A2aCall, config: TaskPushNotificationConfig): Promise<void> {
    assertScopes(call.caller, 'webhooks:write');
    const path = '/configuration/taskPushNotificationConfig';
    await this.pushes.assertAllowed(requestOf(call, { ...config, id: config.id || 'its own' }), path);
  }

  /** Of the task of a message, under an id of the message's: sent again it is the same. `isFromStart`: the task is new. */
  async attach(call: A2aCall, task: TaskSnapshot, { config, messageId, isFromStart }: Attachment): Promise<void> {
    const { caller, requestId } = call;
    const request = requestOf(call, { ...config, id: config.id || messageId });
    await this.pushes.put(caller, task, request, { requestId, isFromStart });
  }
}

interface Attachment {
  readonly config: TaskPushNotificationConfig;
  readonly messageId: string;
  readonly isFromStart: boolean;
}

function requestOf({ version }: A2aCall, { id, url, token, authentication }: TaskPushNotificationConfig): PushRequest {
  return {
    id,
    url,
    format: pushFormat(version),
    ...(token === '' ? {} : { token }),
    ...(authentication && { scheme: authentication.scheme }),
    ...(authentication && authentication.credentials !== '' ? { credentials: authentication.credentials } : {}),
  };
}

function encode(
  { taskId }: TaskSnapshot,
  { id, url, token = '', scheme, credentials = '' }: ShownPush,
): TaskPushNotificationConfig {
  return {
    tenant: '',
    id,
    taskId,
    url,
    token,
    authentication: scheme === undefined ? undefined : { scheme, credentials },
  };
}
