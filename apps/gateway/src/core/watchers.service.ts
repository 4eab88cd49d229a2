import { randomUUID } from 'node:crypto';
import type { Logger, SeenState, TaskStore } from '#lib/domain';
import type { Caller } from './caller.js';
import type { CancellationsService } from './cancellations.service.js';

export interface WatchersPorts {
  readonly tasks: Pick<TaskStore, 'watch' | 'giveUp'>;
  readonly logger: Pick<Logger, 'warn'>;
}

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
    private readonly ports: WatchersPorts,
    private readonly cancellations: Pick<CancellationsService, 'cancel'>,
  ) {}

  /** Somebody waits for the task from now on. */
  async watch({ taskKey }: Leaving['task']): Promise<Watcher> {
    const watcher = randomUUID();
    await this.ports.tasks.watch(taskKey, watcher);
    return watcher;
  }

  /** Cancels the task after a while, unless somebody else waits for it by then. A gateway that ends before cancels nothing. */
  leave(leaving: Leaving, graceMs: number): void {
    const abandon = (): void => {
      this.abandon(leaving).catch((error: unknown) => {
        const { taskId } = leaving.task;
        this.ports.logger.warn('a task nobody waits for could not be cancelled', { taskId, error });
      });
    };
    setTimeout(abandon, graceMs).unref();
  }

  private async abandon({ caller, task, watcher, requestId }: Leaving): Promise<void> {
    if (!(await this.ports.tasks.giveUp(task.taskKey, watcher))) return;
    await this.cancellations.cancel(caller, task.taskId, { reason: 'The client has left.', requestId });
  }
}
