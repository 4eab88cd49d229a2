import {
  DomainError,
  encodeRunSignal,
  type EventBody,
  type EventBus,
  isTaskId,
  isTerminal,
  isTerminalEvent,
  type Page,
  type PageRequest,
  runtimeChannel,
  type StepProjection,
  type TaskFilter,
  type TaskSnapshot,
  type TaskStore,
} from '#lib/domain';
import { draftEvent, type EventWriter } from '#lib/execution';
import { within } from '#lib/platform';
import { auditOf, type Caller, taskScopeOf } from './caller.js';
import type { StreamHub } from './stream-hub.js';
import type { FeedReader } from './task-feed.js';

/** What a long poll came to; `timedOut`: the task is neither waiting nor ended yet. */
export interface Waited {
  readonly task: TaskSnapshot;
  readonly timedOut: boolean;
}

export interface CancelRequest {
  readonly reason?: string;
  readonly requestId: string;
}

/** `accepted` is false when the task had ended already. */
export interface Cancelled {
  readonly task: TaskSnapshot;
  readonly accepted: boolean;
}

/** A task can move between our look and our write; so often we look again. */
const CANCEL_ATTEMPTS = 5;

/** Tasks as callers see them. A task that is unknown or out of reach is DomainError `not_found`, a removed one `gone`. */
export class TasksService {
  constructor(
    private readonly store: TaskStore,
    private readonly hub: StreamHub,
    private readonly writer: EventWriter,
    private readonly bus: EventBus,
  ) {}

  async snapshot(caller: Caller, taskId: string): Promise<TaskSnapshot> {
    const task = isTaskId(taskId) ? await this.store.snapshot(taskScopeOf(caller), taskId) : undefined;
    if (!task) throw new DomainError('not_found', 'There is no such task.');
    return task;
  }

  list(caller: Caller, filter: TaskFilter, page: PageRequest): Promise<Page<TaskSnapshot>> {
    return this.store.list(taskScopeOf(caller), filter, page);
  }

  async steps(caller: Caller, taskId: string, page: PageRequest): Promise<Page<StepProjection>> {
    const { taskKey } = await this.snapshot(caller, taskId);
    return this.store.steps(taskKey, page);
  }

  /** Resolves when the task ended or waits for somebody, or when the time is over; rejects with the reason of `signal`. */
  async wait(
    caller: Caller,
    taskId: string,
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<Waited> {
    const deadlineMs = performance.now() + timeoutMs;
    const task = await this.snapshot(caller, taskId);
    if (isSettled(task)) return { task, timedOut: false };
    const reader = await this.hub.open({ ...task, isEnded: false }, task.lastSeq);
    try {
      const isOver = await settles(reader, deadlineMs, signal);
      const after = await this.snapshot(caller, taskId);
      return { task: after, timedOut: !isOver && !isSettled(after) };
    } finally {
      await reader.return();
    }
  }

  async cancel(caller: Caller, taskId: string, request: CancelRequest): Promise<Cancelled> {
    let task = await this.snapshot(caller, taskId);
    for (let attempt = 1; attempt <= CANCEL_ATTEMPTS; attempt++) {
      if (isTerminal(task.state)) return { task, accepted: false };
      const isWritten = task.cancelRequested && task.runOpen ? true : await this.requestCancel(caller, task, request);
      if (isWritten) this.tellRuntime(task);
      task = await this.snapshot(caller, taskId);
      if (isWritten) return { task, accepted: true };
    }
    throw new DomainError('unavailable', 'The task moves too fast to be cancelled; try again.', {
      retryAfterSeconds: 1,
    });
  }

  /** With no open run the task is over at once; otherwise its runtime has to stop first. False: it moved meanwhile. */
  private async requestCancel(caller: Caller, task: TaskSnapshot, request: CancelRequest): Promise<boolean> {
    const { reason, requestId } = request;
    const why = reason === undefined ? {} : { reason };
    const requested: EventBody = {
      type: 'task.cancel_requested',
      payload: { requested_by: caller.principal, ...why },
    };
    const cancelled: EventBody = { type: 'task.cancelled', payload: { forced: false, ...why } };
    const events = [...(task.cancelRequested ? [] : [requested]), ...(task.runOpen ? [] : [cancelled])];
    const outcome = await this.writer.append({
      taskKey: task.taskKey,
      taskId: task.taskId,
      guard: { kind: 'control', from: [task.state], runOpen: task.runOpen, runNo: task.runNo },
      events: events.map(draftEvent),
      audit: auditOf(caller, { action: 'task.cancel', target: task.taskId, details: why, requestId }),
    });
    if (outcome.kind === 'refused') throw new Error('a cancel was refused', { cause: outcome.cause });
    if (outcome.kind === 'unavailable') {
      throw new DomainError('unavailable', 'The task could not be cancelled now.', { retryAfterSeconds: 1 });
    }
    return outcome.kind === 'stored';
  }

  /** Only a hint: the runtime learns the same from its next append or renewal. */
  private tellRuntime({ taskKey, runNo, runOpen, runtimeId }: TaskSnapshot): void {
    if (!runOpen || runtimeId === null) return;
    this.bus
      .signal(runtimeChannel(runtimeId), encodeRunSignal({ kind: 'cancel', taskKey, runNo }))
      .catch(() => undefined);
  }
}

function isSettled({ state }: TaskSnapshot): boolean {
  return isTerminal(state) || state === 'waiting_for_input';
}

/** True when the reader comes past an event that ends the task or stops it to wait, false when the time is over. */
async function settles(reader: FeedReader, deadlineMs: number, signal?: AbortSignal): Promise<boolean> {
  for (;;) {
    const next = await within(reader.next(), deadlineMs - performance.now(), signal);
    if (!next) return false;
    if (next.done) return true;
    if (next.value.some(({ type }) => isTerminalEvent(type) || type === 'task.waiting_for_input')) return true;
  }
}
