import { randomUUID } from 'node:crypto';
import type { SeenState, TaskStore } from '#lib/domain';
import type { Caller } from './caller.js';
import type { CancellationsService } from './cancellations.service.js';

/** Who waits for a task last; undefined: whoever submitted it. */
export type Watcher = string | undefined;

/** Somebody who waited for a task and left. */
export interface Leaving {
  readonly caller: Caller;
  readonly task: Pick<SeenState, 'taskKey' | 'taskId'>;
  readonly watcher: Watcher;
  readonly requestId: string;
}

/**
 * Ends tasks nobody waits for any more, for surfaces whose clients expect that. Who comes back, by whichever gateway, takes
 * the place of who was there before: the leave of one whose place is taken ends nothing.
 */
export class WatchersService {
  constructor(
    private readonly tasks: Pick<TaskStore, 'watch' | 'giveUp'>,
    private readonly cancellations: CancellationsService,
  ) {}

  /** Somebody waits for the task from now on. */
  async watch({ taskKey }: Leaving['task']): Promise<Watcher> {
    const watcher = randomUUID();
    await this.tasks.watch(taskKey, watcher);
    return watcher;
  }

  /** Cancels the task, unless somebody else waits for it. True when it did. */
  async abandon({ caller, task, watcher, requestId }: Leaving): Promise<boolean> {
    if (!(await this.tasks.giveUp(task.taskKey, watcher))) return false;
    const { accepted } = await this.cancellations.cancel(caller, task.taskId, {
      reason: 'The client has left.',
      requestId,
    });
    return accepted;
  }
}
