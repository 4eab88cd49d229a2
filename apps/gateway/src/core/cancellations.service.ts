import {
  DomainError,
  encodeRunSignal,
  type EventBody,
  type EventBus,
  isTerminal,
  type RunQueue,
  runtimeChannel,
  type TaskSnapshot,
} from '#lib/domain';
import { draftEvent, type EventWriter } from '#lib/execution';
import { auditOf, type Caller } from './caller.js';
import type { TasksService } from './tasks.service.js';

export interface CancelRequest {
  readonly reason?: string;
  readonly requestId: string;
}

/** `accepted` is false when the task had ended already. */
export interface Cancelled {
  readonly task: TaskSnapshot;
  readonly accepted: boolean;
}

export interface CancellationPorts {
  readonly writer: EventWriter;
  readonly bus: EventBus;
  readonly queue: RunQueue;
}

/** A task can move between our look and our write; so often we look again. */
const ATTEMPTS = 5;

/** Stops tasks, in whatever state they are. */
export class CancellationsService {
  constructor(
    private readonly tasks: TasksService,
    private readonly ports: CancellationPorts,
  ) {}

  /** @throws DomainError `not_found`, `gone`, `unavailable` */
  async cancel(caller: Caller, taskId: string, request: CancelRequest): Promise<Cancelled> {
    let task = await this.tasks.snapshot(caller, taskId);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      if (isTerminal(task.state)) return { task, accepted: false };
      const isWritten = task.cancelRequested && task.runOpen ? true : await this.write(caller, task, request);
      if (isWritten) this.tell(task);
      task = await this.tasks.snapshot(caller, taskId);
      if (isWritten) return { task, accepted: true };
    }
    throw new DomainError('unavailable', 'The task moves too fast to be cancelled; try again.', {
      retryAfterSeconds: 1,
    });
  }

  /** With no open run the task is over at once; otherwise its runtime has to stop first. False: it moved meanwhile. */
  private async write(caller: Caller, task: TaskSnapshot, { reason, requestId }: CancelRequest): Promise<boolean> {
    const why = reason === undefined ? {} : { reason };
    const requested: EventBody = {
      type: 'task.cancel_requested',
      payload: { requested_by: caller.principal, ...why },
    };
    const cancelled: EventBody = { type: 'task.cancelled', payload: { forced: false, ...why } };
    const events = [...(task.cancelRequested ? [] : [requested]), ...(task.runOpen ? [] : [cancelled])];
    const { cancelRequested, runOpen, runNo } = task;
    const outcome = await this.ports.writer.append({
      taskKey: task.taskKey,
      taskId: task.taskId,
      guard: { kind: 'control', from: [task.state], runOpen, runNo, cancelRequested },
      events: events.map(draftEvent),
      audit: [auditOf(caller, { action: 'task.cancel', target: task.taskId, details: why, requestId })],
    });
    if (outcome.kind === 'refused') throw new Error('a cancel was refused', { cause: outcome.cause });
    if (outcome.kind === 'unavailable') {
      throw new DomainError('unavailable', 'The task could not be cancelled now.', { retryAfterSeconds: 1 });
    }
    return outcome.kind === 'stored';
  }

  /**
   * Only hints: the runtime learns the same from its next append or renewal, and a job of a task that is over finds
   * nothing to claim.
   */
  private tell({ taskKey, runNo, runOpen, runtimeId, tenant, pool, priority }: TaskSnapshot): void {
    const { bus, queue } = this.ports;
    const told =
      runOpen && runtimeId !== null
        ? bus.signal(runtimeChannel(runtimeId), encodeRunSignal({ kind: 'cancel', taskKey, runNo }))
        : queue.remove([{ taskKey, runNo: runNo + 1, tenant, pool, priority, delayMs: 0 }]);
    told.catch(() => undefined);
  }
}
