import type { Message, Task } from '@a2a-js/sdk';
import { Role } from '@a2a-js/sdk';
import { DomainError, type TaskSnapshot } from '#lib/domain';
import { encodeInput, TaskTranscript, type TaskView, TOLD_EVENTS } from '#lib/protocol/a2a';
import type { ArtifactsService } from '../core/artifacts.service.js';
import type { StreamsService } from '../core/streams.service.js';
import type { TasksService } from '../core/tasks.service.js';
import type { A2aOptions } from './a2a.options.js';
import type { A2aCall } from './calls.js';

export interface ReaderServices {
  readonly tasks: TasksService;
  readonly streams: StreamsService;
  readonly artifacts: ArtifactsService;
}

/** What of a task says where it belongs. */
export type Told = Pick<TaskSnapshot, 'taskKey' | 'taskId' | 'sessionId'>;

/** Tasks in the form of this protocol, made of their logs. */
export class TaskReader {
  constructor(
    private readonly services: ReaderServices,
    private readonly options: Pick<A2aOptions, 'confirmationState'>,
  ) {}

  /** A task of the agent that was called. @throws DomainError `not_found`, `gone` */
  async find({ caller, agent }: A2aCall, taskId: string): Promise<TaskSnapshot> {
    const task = await this.services.tasks.snapshot(caller, taskId);
    if (task.agentId !== agent.id) throw new DomainError('not_found', 'There is no such task.');
    return task;
  }

  /** As it stands now. */
  async read(task: Told, view: TaskView): Promise<Task> {
    const transcript = await this.begin(task);
    for (const event of await this.services.streams.select(task, TOLD_EVENTS)) transcript.apply(event);
    return transcript.task(view);
  }

  /** Before its first event. */
  async begin(task: Told): Promise<TaskTranscript> {
    const contextId = contextOf(task);
    const urlOf = (artifactId: string): string => this.services.artifacts.urlOf(artifactId);
    const { input, context } = await this.services.tasks.request(task);
    const asked = encodeAsked(task.taskId, contextId, {
      parts: encodeInput(JSON.parse(input), urlOf),
      said: (JSON.parse(context) as { readonly a2a?: SaidMessage }).a2a ?? {},
    });
    const { confirmationState } = this.options;
    return new TaskTranscript({ taskId: task.taskId, contextId, urlOf, confirmationState, asked });
  }
}

/** What a task without a session is a conversation of its own by. */
export function contextOf({ taskId, sessionId }: Pick<Told, 'taskId' | 'sessionId'>): string {
  return sessionId ?? taskId;
}

/** What is kept of a first message beside its parts, in the context that runs are given. */
export interface SaidMessage {
  readonly message_id?: unknown;
  readonly metadata?: unknown;
  readonly extensions?: unknown;
  readonly reference_task_ids?: unknown;
}

function encodeAsked(
  taskId: string,
  contextId: string,
  { parts, said }: { readonly parts: Message['parts']; readonly said: SaidMessage },
): Message {
  const { message_id: id, metadata, extensions, reference_task_ids: references } = said;
  return {
    messageId: typeof id === 'string' ? id : taskId,
    taskId,
    contextId,
    role: Role.ROLE_USER,
    parts,
    metadata: typeof metadata === 'object' && metadata !== null ? { ...metadata } : undefined,
    extensions: textsOf(extensions),
    referenceTaskIds: textsOf(references),
  };
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}
