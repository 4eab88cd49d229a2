import {
  type CountedPage,
  DomainError,
  isDomainError,
  isTaskId,
  isTerminal,
  isTerminalEvent,
  type Page,
  type PageRequest,
  type SeenState,
  type StateListFilter,
  type StepProjection,
  type TaskKey,
  type TaskFilter,
  type TaskRequest,
  type TaskSnapshot,
  type TaskStore,
} from '#lib/domain';
import { within } from '#lib/platform';
import { type Authenticator, RefusedCredential } from './authenticator.js';
import { type Caller, taskScopeOf } from './caller.js';
import type { Quotas } from './quotas.js';
import type { StreamHub } from './stream-hub.js';
import type { FeedReader } from './task-feed.js';

/** What a long poll came to; `timedOut`: the task is neither waiting nor ended yet. */
export interface Waited {
  readonly task: TaskSnapshot;
  readonly timedOut: boolean;
}

/** How long somebody waits; `signal` fires when nobody does any more. */
export interface Patience {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** What ends the wait: by default also that the task waits for somebody. */
  readonly until?: 'ended';
}

/** How long nobody who waits is asked for again, in ms: with the time a key is believed it stays below 5 s. */
const BELIEVED_MS = 900;

interface Deadline extends Pick<Patience, 'signal' | 'until'> {
  readonly deadlineMs: number;
}

/** Tasks as callers see them. A task that is unknown or out of reach is DomainError `not_found`, a removed one `gone`. */
export class TasksService {
  constructor(
    private readonly store: TaskStore,
    private readonly hub: StreamHub,
    private readonly quotas: Pick<Quotas, 'hold'>,
    private readonly authenticator: Pick<Authenticator, 'lapsed'>,
  ) {}

  async snapshot(caller: Caller, taskId: string): Promise<TaskSnapshot> {
    const task = isTaskId(taskId) ? await this.store.snapshot(taskScopeOf(caller), taskId) : undefined;
    if (!task) throw new DomainError('not_found', 'There is no such task.');
    return task;
  }

  /** Undefined when there is none of this id, or none any more. */
  async seek(caller: Caller, taskId: string): Promise<TaskSnapshot | undefined> {
    return this.snapshot(caller, taskId).catch((error: unknown) => {
      if (isDomainError(error) && (error.code === 'not_found' || error.code === 'gone')) return undefined;
      throw error;
    });
  }

  /** What a task that this caller has seen was submitted with. */
  async request({ taskKey }: Pick<TaskSnapshot, 'taskKey'>): Promise<TaskRequest> {
    const request = await this.store.request(taskKey);
    if (!request) throw new DomainError('gone', 'The task was removed: the time it is kept for is over.');
    return request;
  }

  /** The same by the key that stands for a task in what we sign or mint; undefined when there is no such task. */
  async find(caller: Caller, taskKey: TaskKey): Promise<TaskSnapshot | undefined> {
    const taskId = await this.store.idOf(taskKey);
    return taskId && this.store.snapshot(taskScopeOf(caller), taskId);
  }

  list(caller: Caller, filter: TaskFilter, page: PageRequest): Promise<Page<TaskSnapshot>> {
    return this.store.list(taskScopeOf(caller), filter, page);
  }

  listByState(caller: Caller, filter: StateListFilter, page: PageRequest): Promise<CountedPage<TaskSnapshot>> {
    return this.store.listByState(taskScopeOf(caller), filter, page);
  }

  async steps(caller: Caller, taskId: string, page: PageRequest): Promise<Page<StepProjection>> {
    const { taskKey } = await this.snapshot(caller, taskId);
    return this.store.steps(taskKey, page);
  }

  /** Resolves when the task ended or waits for somebody, or when the time is over; rejects with the reason of `signal`, or
   * `rate_limited` where too many wait. */
  async wait(caller: Caller, taskId: string, patience: Patience): Promise<Waited> {
    const deadlineMs = performance.now() + patience.timeoutMs;
    const task = await this.snapshot(caller, taskId);
    if (isOver(task, patience)) return { task, timedOut: false };
    return this.waitFrom(caller, task, { ...patience, timeoutMs: deadlineMs - performance.now() });
  }

  /** The same for a task this caller has seen at `lastSeq`: it is not looked at again before something has happened. */
  async waitFrom(caller: Caller, seen: SeenState, patience: Patience): Promise<Waited> {
    if (isOver(seen, patience)) return { task: await this.snapshot(caller, seen.taskId), timedOut: false };
    const sinceMs = performance.now();
    const slot = this.quotas.hold('waits', caller);
    try {
      const waited = await this.await(caller, seen, { ...patience, deadlineMs: sinceMs + patience.timeoutMs });
      await this.assertStill(caller, sinceMs);
      return waited;
    } finally {
      slot.release();
    }
  }

  /** What came by waiting is for callers who might still ask for it. @throws RefusedCredential */
  async assertStill(caller: Caller, sinceMs: number): Promise<void> {
    if (performance.now() - sinceMs < BELIEVED_MS) return;
    if ((await this.authenticator.lapsed([caller])).size > 0)
      throw new RefusedCredential('lapsed while it waited', caller);
  }

  private async await(caller: Caller, seen: SeenState, deadline: Deadline): Promise<Waited> {
    const reader = await this.hub.open({ ...seen, isEnded: false }, seen.lastSeq);
    try {
      const isDone = await settles(reader, deadline);
      const after = await this.snapshot(caller, seen.taskId);
      return { task: after, timedOut: !isDone && !isOver(after, deadline) };
    } finally {
      await reader.return();
    }
  }
}

/** True when the task has ended or waits for somebody. */
export function isSettled({ state }: Pick<TaskSnapshot, 'state'>): boolean {
  return isTerminal(state) || state === 'waiting_for_input';
}

/** True when there is nothing to wait for. */
function isOver(task: Pick<TaskSnapshot, 'state'>, { until }: Pick<Patience, 'until'>): boolean {
  return until === 'ended' ? isTerminal(task.state) : isSettled(task);
}

/** True when the reader comes past an event that ends the wait, false when the time is over. */
async function settles(reader: FeedReader, { deadlineMs, signal, until }: Deadline): Promise<boolean> {
  const isPause = (type: string): boolean => until !== 'ended' && type === 'task.waiting_for_input';
  for (;;) {
    const next = await within(reader.next(), deadlineMs - performance.now(), signal);
    if (!next) return false;
    if (next.done) return true;
    if (next.value.some(({ type }) => isTerminalEvent(type) || isPause(type))) return true;
  }
}
