import {
  DomainError,
  type TaskId,
  type TaskSnapshot,
  type Thread,
  type ThreadRun,
  type ThreadStore,
} from '#lib/domain';
import type { CancellationsService, Cancelled, CancelRequest } from '../core/cancellations.service.js';
import type { Caller } from '../core/caller.js';
import type { TasksService } from '../core/tasks.service.js';

/** A run with the task it is of. */
export interface FoundRun {
  readonly run: ThreadRun;
  readonly task: TaskSnapshot;
}

/** Runs of one task, in order. */
export interface TaskRuns {
  readonly task: TaskSnapshot;
  readonly runs: readonly ThreadRun[];
}

/** Length of the history of a thread, in tasks: the newest. */
const MAX_TASKS = 200;

/**
 * Threads as callers see them. A task that nobody here began is a thread of its own, by its id. What is out of reach is
 * DomainError `not_found`.
 */
export class ThreadsService {
  constructor(
    private readonly store: ThreadStore,
    private readonly tasks: TasksService,
    private readonly cancellations: CancellationsService,
  ) {}

  /** Undefined when nobody has begun it. */
  async find(caller: Caller, threadId: string, runId?: string): Promise<Thread | undefined> {
    const thread = await this.store.find({ tenant: caller.tenant, threadId }, runId);
    if (thread && thread.principal !== caller.principal && !caller.scopes.has('tasks:all')) throw noThread();
    return thread;
  }

  /** The task a thread is at; undefined when it has none. */
  async current(caller: Caller, threadId: string, thread: Thread | undefined): Promise<TaskSnapshot | undefined> {
    return this.tasks.seek(caller, thread?.newest?.taskId ?? threadId);
  }

  /** Undefined when there is none of this id, or none any more. */
  task(caller: Caller, taskId: string): Promise<TaskSnapshot | undefined> {
    return this.tasks.seek(caller, taskId);
  }

  async run(caller: Caller, threadId: string, runId: string): Promise<FoundRun> {
    const thread = await this.find(caller, threadId, runId);
    const run = thread?.run ?? (threadId === runId ? wholeTask(threadId) : undefined);
    const task = run && (await this.task(caller, run.taskId));
    if (!run || !task) throw noThread();
    return { run, task };
  }

  /** All runs of a thread, by task, the oldest first. */
  async history(caller: Caller, threadId: string): Promise<readonly [TaskRuns, ...TaskRuns[]]> {
    const thread = await this.find(caller, threadId);
    const runs = thread ? await this.store.runs({ tenant: caller.tenant, threadId }) : [];
    const taskIds = runs.length > 0 ? [...new Set(runs.map(({ taskId }) => taskId))] : [threadId as TaskId];
    const found: TaskRuns[] = [];
    for (const taskId of taskIds.slice(-MAX_TASKS)) {
      const task = await this.task(caller, taskId);
      if (task) found.push({ task, runs: runs.filter((run) => run.taskId === taskId) });
    }
    const [first, ...rest] = found;
    if (!first) throw noThread();
    return [first, ...rest];
  }

  async cancel(
    caller: Caller,
    name: { readonly threadId: string; readonly runId: string },
    request: CancelRequest,
  ): Promise<Cancelled> {
    const { task } = await this.run(caller, name.threadId, name.runId);
    return this.cancellations.cancel(caller, task.taskId, request);
  }
}

function wholeTask(taskId: string): ThreadRun {
  return { runId: taskId, taskId: taskId as TaskId, firstSeq: 1, requestHash: new Uint8Array(0) };
}

export function noThread(): DomainError {
  return new DomainError('not_found', 'There is no such thread or run.');
}
