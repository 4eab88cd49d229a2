import {
  DomainError,
  isTaskId,
  isTerminal,
  isTerminalEvent,
  type Page,
  type PageRequest,
  type StepProjection,
  type TaskFilter,
  type TaskSnapshot,
  type TaskStore,
} from '#lib/domain';
import { within } from '#lib/platform';
import { type Caller, taskScopeOf } from './caller.js';
import type { StreamHub } from './stream-hub.js';
import type { FeedReader } from './task-feed.js';

/** What a long poll came to; `timedOut`: the task is neither waiting nor ended yet. */
export interface Waited {
  readonly task: TaskSnapshot;
  readonly timedOut: boolean;
}

/** Tasks as callers see them. A task that is unknown or out of reach is DomainError `not_found`, a removed one `gone`. */
export class TasksService {
  constructor(
    private readonly store: TaskStore,
    private readonly hub: StreamHub,
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
