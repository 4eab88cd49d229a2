import { DomainError, type TaskSnapshot } from '#lib/domain';
import { draftEvent, type EventWriter } from '#lib/execution';
import { auditOf, type Caller } from './caller.js';
import type { RunEnqueuer } from './run.enqueuer.js';
import type { TasksService } from './tasks.service.js';

/** `released` is false when the task was not held, or no longer. */
export interface Released {
  readonly task: TaskSnapshot;
  readonly released: boolean;
}

export interface ReleaseRequest {
  /** What is asked of a task of which nothing was; of no effect on any other. */
  readonly input?: string;
  readonly requestId: string;
}

/** Lets held tasks start. */
export class ReleasesService {
  constructor(
    private readonly tasks: Pick<TasksService, 'snapshot'>,
    private readonly writer: EventWriter,
    private readonly enqueuer: Pick<RunEnqueuer, 'released'>,
  ) {}

  /**
   * The first who asks releases it, unless it has ended before.
   * @throws DomainError `not_found`, `gone`, `unavailable`
   */
  async release(caller: Caller, taskId: string, request: ReleaseRequest): Promise<Released> {
    const task = await this.tasks.snapshot(caller, taskId);
    if (task.heldUntilMs === null) return { task, released: false };
    const released = await this.write(caller, task, request);
    if (released) this.enqueuer.released(task);
    return { task: await this.tasks.snapshot(caller, taskId), released };
  }

  private async write(
    caller: Caller,
    { taskKey, taskId }: TaskSnapshot,
    { input, requestId }: ReleaseRequest,
  ): Promise<boolean> {
    const outcome = await this.writer.append({
      taskKey,
      taskId,
      guard: { kind: 'control', from: ['queued'], held: true },
      events: [draftEvent({ type: 'task.released', payload: {} })],
      ...(input === undefined ? {} : { input: JSON.stringify(input) }),
      audit: [auditOf(caller, { action: 'task.start', target: taskId, details: {}, requestId })],
    });
    if (outcome.kind === 'refused') throw new Error('a release was refused', { cause: outcome.cause });
    if (outcome.kind === 'unavailable') {
      throw new DomainError('unavailable', 'The task could not be started now.', { retryAfterSeconds: 1 });
    }
    return outcome.kind === 'stored';
  }
}
