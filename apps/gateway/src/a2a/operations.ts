import type {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { isTerminal } from '#lib/domain';
import { REASON } from '#lib/protocol/a2a';
import { DomainError } from '#lib/domain';
import type { CancellationsService } from '../core/cancellations.service.js';
import { assertScopes } from '../core/caller.js';
import type { StreamsService } from '../core/streams.service.js';
import type { A2aOptions } from './a2a.options.js';
import { type A2aCall, assertTenant } from './calls.js';
import type { Cards } from './cards.js';
import type { MessagesService } from './messages.service.js';
import type { PushOperations } from './push.operations.js';
import type { TaskReader } from './task.reader.js';
import type { TaskLists } from './task.lists.js';
import { updatesOf } from './updates.js';

/** What the operations of the protocol are made of. */
export abstract class A2aServices {
  abstract readonly options: A2aOptions;
  abstract readonly reader: TaskReader;
  abstract readonly lists: TaskLists;
  abstract readonly messages: MessagesService;
  abstract readonly pushes: PushOperations;
  abstract readonly streams: StreamsService;
  abstract readonly cancellations: CancellationsService;
  abstract readonly cards: Cards;
}

/** How long an accepted cancel is waited for, in ms: longer ones go on, and the task is shown at work. */
const CANCEL_MS = 5_000;
const ALL = { hasArtifacts: true };

/**
 * The operations of A2A ("Protocol Operations") for one request, over the log and the services all protocols share. The
 * transports of the SDK spell what goes in and out, in either version; what fails is kept with the call, for them to lose.
 */
export class A2aOperations implements A2ARequestHandler {
  constructor(
    private readonly services: A2aServices,
    private readonly call: A2aCall,
  ) {}

  getAgentCard(): Promise<AgentCard> {
    return Promise.resolve(this.services.cards.ofAgent(this.call.agent));
  }

  getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    return this.kept(() => this.services.cards.extended(this.call));
  }

  sendMessage(request: SendMessageRequest): Promise<Task> {
    return this.kept(async () => {
      const { historyLength, returnImmediately: isQuick = false } = request.configuration ?? {};
      const { messages, reader, options } = this.services;
      const seen = await messages.take(this.call, request, !isQuick);
      const task = isQuick
        ? await reader.find(this.call, seen.taskId)
        : await messages.settle(this.call, seen, options.blockingMs);
      return reader.read(task, { ...ALL, historyLength });
    });
  }

  sendMessageStream(request: SendMessageRequest): AsyncGenerator<StreamResponse, void, undefined> {
    return this.keptStream(async () => {
      const seen = await this.services.messages.take(this.call, request, true);
      const historyLength = request.configuration?.historyLength;
      const task = await this.services.reader.find(this.call, seen.taskId);
      const transcript = await this.services.reader.begin(task);
      return updatesOf(this.call, this.services.streams, { seen, transcript, historyLength, endsAtQuestion: true });
    });
  }

  getTask({ id, historyLength, tenant }: GetTaskRequest): Promise<Task> {
    return this.kept(async () => {
      assertTenant(this.call, tenant);
      const task = await this.services.reader.find(this.call, id);
      return this.services.reader.read(task, { ...ALL, historyLength });
    });
  }

  cancelTask({ id, tenant }: CancelTaskRequest): Promise<Task> {
    return this.kept(async () => {
      assertTenant(this.call, tenant);
      const { call } = this;
      const { reader, cancellations, messages } = this.services;
      assertScopes(call.caller, 'tasks:cancel');
      await reader.find(call, id);
      const { task, accepted } = await cancellations.cancel(call.caller, id, { requestId: call.requestId });
      if (!accepted && task.state !== 'cancelled') throw notCancelable();
      const ended = isTerminal(task.state) ? task : await messages.settle(call, task, CANCEL_MS);
      return reader.read(ended, ALL);
    });
  }

  resubscribe({ id, tenant }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse, void, undefined> {
    return this.keptStream(async () => {
      assertTenant(this.call, tenant);
      const { reader, streams } = this.services;
      const seen = await reader.find(this.call, id);
      if (isTerminal(seen.state))
        throw new DomainError('not_waiting', 'The task has ended: there is nothing to wait for.');
      const transcript = await reader.begin(seen);
      return updatesOf(this.call, streams, { seen, transcript, historyLength: undefined, endsAtQuestion: false });
    });
  }

  listTasks(request: ListTasksRequest): Promise<ListTasksResponse> {
    return this.kept(() => {
      assertTenant(this.call, request.tenant);
      return this.services.lists.list(this.call, request);
    });
  }

  createTaskPushNotificationConfig(config: TaskPushNotificationConfig): Promise<TaskPushNotificationConfig> {
    return this.kept(() => this.services.pushes.create(this.call, config));
  }

  getTaskPushNotificationConfig(request: GetTaskPushNotificationConfigRequest): Promise<TaskPushNotificationConfig> {
    return this.kept(() => this.services.pushes.get(this.call, request));
  }

  listTaskPushNotificationConfigs(
    request: ListTaskPushNotificationConfigsRequest,
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    return this.kept(() => this.services.pushes.list(this.call, request));
  }

  deleteTaskPushNotificationConfig(request: DeleteTaskPushNotificationConfigRequest): Promise<void> {
    return this.kept(() => this.services.pushes.remove(this.call, request));
  }

  private async kept<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.call.failure = error as Error;
      throw error;
    }
  }

  private async *keptStream(
    open: () => Promise<AsyncGenerator<StreamResponse, void, undefined>>,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    yield* await this.kept(open);
  }
}

function notCancelable(): DomainError {
  return new DomainError('not_waiting', 'The task has ended.', { extensions: { [REASON]: 'TASK_NOT_CANCELABLE' } });
}
