import { isDomainError, type TaskSnapshot } from '#lib/domain';
import type { Caller } from './caller.js';
import type { Submitted } from './submissions.service.js';
import { isSettled, type TasksService } from './tasks.service.js';

/** Too many wait, or whoever waited may not ask for the outcome any more. */
const SILENT: ReadonlySet<string> = new Set(['rate_limited', 'unauthenticated']);

/** Waits for what was submitted, for callers who want its outcome in the same answer. */
export class SyncService {
  constructor(
    private readonly tasks: Pick<TasksService, 'waitFrom'>,
    /** How long a caller is kept waiting. */
    private readonly patienceMs: number,
  ) {}

  /**
   * The task when it has ended or waits for somebody, undefined when neither comes in time, or when too many wait already:
   * the task goes on. Rejects with the reason of `signal`, which frees everything the wait holds.
   */
  async outcome(caller: Caller, submitted: Submitted, signal: AbortSignal): Promise<TaskSnapshot | undefined> {
    try {
      const { task } = await this.tasks.waitFrom(caller, submitted, { timeoutMs: this.patienceMs, signal });
      return isSettled(task) ? task : undefined;
    } catch (error) {
      // The task is taken: to refuse now would tell its caller to send it again.
      if (isDomainError(error) && SILENT.has(error.code)) return undefined;
      throw error;
    }
  }
}
