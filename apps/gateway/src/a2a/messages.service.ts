import {
  type Message,
  Message as MessageCodec,
  type SendMessageRequest,
  type TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import {
  canonicalJson,
  DomainError,
  faulty,
  isDomainError,
  isTerminal,
  type SeenState,
  type TaskSnapshot,
} from '#lib/domain';
import {
  answerKey,
  assertMessage,
  decodeAnswer,
  decodeParts,
  inWordsOfExtension,
  messageOfKey,
} from '#lib/protocol/a2a';
import { createHash, randomUUID } from 'node:crypto';
import type { AnswersService } from '../core/answers.service.js';
import { assertScopes } from '../core/caller.js';
import type { StreamsService } from '../core/streams.service.js';
import type { SubmissionsService } from '../core/submissions.service.js';
import { isSettled, type TasksService } from '../core/tasks.service.js';
import { type A2aCall, assertTenant } from './calls.js';
import type { PushOperations } from './push.operations.js';
import { contextOf, type SaidMessage, type TaskReader } from './task.reader.js';

export interface MessageServices {
  readonly submissions: SubmissionsService;
  readonly answers: AnswersService;
  readonly tasks: TasksService;
  readonly streams: StreamsService;
}

/** Tasks that one message may refer to; each is looked up. */
const MAX_REFERENCES = 16;

/** What clients say: it begins a task, or answers one that waits. */
export class MessagesService {
  constructor(
    private readonly services: MessageServices,
    private readonly reader: TaskReader,
    private readonly pushes: PushOperations,
  ) {}

  /** The task the message belongs to, as it stood when the message was taken in. `isFollowed`: somebody is going to watch it. */
  async take(call: A2aCall, request: SendMessageRequest, isFollowed: boolean): Promise<SeenState> {
    const message = assertMessage(request);
    assertTenant(call, request.tenant);
    const config = request.configuration?.taskPushNotificationConfig;
    if (config) await this.pushes.check(call, config);
    const { messageId, taskId } = message;
    if (taskId !== '') return this.answer(call, message, config);
    const seen = await this.begin(call, { request, message, isFollowed });
    if (config) {
      const task = await this.reader.find(call, seen.taskId);
      await this.pushes.attach(call, task, { config, messageId, isFromStart: true });
    }
    return seen;
  }

  /** Until it has ended or waits for somebody, or the time is over; too many who wait are not told to send it again. */
  async settle(call: A2aCall, seen: SeenState, timeoutMs: number): Promise<TaskSnapshot> {
    if (isSettled(seen)) return this.reader.find(call, seen.taskId);
    try {
      const { caller, signal } = call;
      return (await this.services.tasks.waitFrom(caller, seen, { timeoutMs, signal })).task;
    } catch (error) {
      if (!isDomainError(error) || error.code !== 'rate_limited') throw error;
      return this.reader.find(call, seen.taskId);
    }
  }

  private async begin(call: A2aCall, { request, message, isFollowed }: FirstMessage): Promise<SeenState> {
    const { caller, agent, requestId } = call;
    assertScopes(caller, 'tasks:submit');
    const input = decodeParts(message.parts);
    const a2a = { ...saidOf(message), ...(await this.references(call, message)) };
    const context = { a2a: request.metadata === undefined ? a2a : { ...a2a, request_metadata: request.metadata } };
    return this.services.submissions.submit(caller, {
      agentId: agent.id,
      sessionId: message.contextId === '' ? randomUUID() : message.contextId,
      // Such a key holds a space, which those of other callers cannot.
      idempotencyKey: `a2a ${JSON.stringify([agent.id, message.messageId])}`,
      input: { text: JSON.stringify(input), value: input },
      context: { text: JSON.stringify(context), value: context },
      detail: 'full',
      body: { message: MessageCodec.toJSON(message), metadata: request.metadata ?? {} },
      isFollowed,
      requestId,
    });
  }

  private async references(call: A2aCall, { referenceTaskIds }: Message): Promise<SaidMessage> {
    const known: string[] = [];
    for (const taskId of new Set(referenceTaskIds.slice(0, MAX_REFERENCES))) {
      if (await this.services.tasks.seek(call.caller, taskId)) known.push(taskId);
    }
    return known.length === 0 ? {} : { reference_task_ids: known };
  }

  private async answer(call: A2aCall, message: Message, config?: TaskPushNotificationConfig): Promise<SeenState> {
    const { caller, requestId } = call;
    const { messageId } = message;
    assertScopes(caller, 'tasks:decide');
    const task = await this.reader.find(call, message.taskId);
    assertContext(message, task);
    const key = answerKey(messageId, digestOf(message));
    if (await this.isRepeat(task, messageId, key)) return this.reader.find(call, task.taskId);
    if (task.waitId === null) throw notWaiting(task);
    if (config) await this.pushes.attach(call, task, { config, messageId, isFromStart: false });
    const answer = decodeAnswer(message, task.pendingConfirmations);
    // Words decide no call of a tool: it is asked again.
    if (answer === undefined) return task;
    try {
      await this.services.answers.resume(caller, task.taskId, { waitId: task.waitId, answer, key, requestId });
    } catch (error) {
      if (!isDomainError(error)) throw error;
      // The same message may have come to another gateway at the same moment.
      const isLate = error.code === 'not_waiting' || error.code === 'wait_changed';
      if (!isLate || !(await this.isRepeat(task, messageId, key))) throw inWordsOfExtension(error);
    }
    // Behind the event of the answer, which has been stored.
    return this.reader.find(call, task.taskId);
  }

  /** Answers keep the message they came by, with them in the log. @throws DomainError `idempotency_conflict` */
  private async isRepeat(task: TaskSnapshot, messageId: string, key: string): Promise<boolean> {
    const answers = await this.services.streams.select(task, ['task.resumed']);
    const keys = answers.flatMap(({ payload }) => payload.answer_key ?? []);
    if (keys.includes(key)) return true;
    if (!keys.some((other) => messageOfKey(other) === messageId)) return false;
    throw new DomainError('idempotency_conflict', 'The messageId was used before, for another message.');
  }
}

function digestOf(message: Message): string {
  return createHash('sha256')
    .update(canonicalJson(MessageCodec.toJSON(message)))
    .digest('base64url');
}

interface FirstMessage {
  readonly request: SendMessageRequest;
  readonly message: Message;
  readonly isFollowed: boolean;
}

function saidOf({ messageId, metadata, extensions }: Message): SaidMessage {
  return {
    message_id: messageId,
    ...(metadata === undefined ? {} : { metadata }),
    ...(extensions.length === 0 ? {} : { extensions }),
  };
}

function assertContext({ contextId }: Message, task: TaskSnapshot): void {
  if (contextId !== '' && contextId !== contextOf(task)) throw refused('/message/contextId', 'is not that of the task');
}

function refused(path: string, message: string): DomainError {
  return faulty('invalid_request', [{ path, code: 'invalid', message }]);
}

function notWaiting({ state }: TaskSnapshot): DomainError {
  return new DomainError(
    'not_waiting',
    isTerminal(state) ? 'The task has ended and takes no more messages.' : 'The task is at work and waits for nobody.',
  );
}
