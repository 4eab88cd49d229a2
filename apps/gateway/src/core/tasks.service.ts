import type { Page, PageRequest, StepProjection, TaskFilter, TaskSnapshot } from '#lib/domain';
import type { Caller } from './caller.js';

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

/** Tasks as callers see them. A task that is unknown or out of reach is DomainError `not_found`, a removed one `gone`. */
export abstract class TasksService {
  abstract snapshot(caller: Caller, taskId: string): Promise<TaskSnapshot>;
  abstract list(caller: Caller, filter: TaskFilter, page: PageRequest): Promise<Page<TaskSnapshot>>;
  abstract steps(caller: Caller, taskId: string, page: PageRequest): Promise<Page<StepProjection>>;
  /** Resolves when the task ended or waits for somebody, or when the time is over; rejects with the reason of `signal`. */
  abstract wait(
    caller: Caller,
    taskId: string,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<Waited>;
  abstract cancel(caller: Caller, taskId: string, request: CancelRequest): Promise<Cancelled>;
}
