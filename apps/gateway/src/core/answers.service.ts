import {
  type AnswerRequest,
  decideAnswer,
  DomainError,
  type ItemAnswer,
  namesNothing,
  type RecordedDecision,
  type TaskSnapshot,
  type TaskStore,
  toTaskAnswer,
} from '#lib/domain';
import { draftDenials, draftResumed, type EventWriter, OversizeError, type WriteOutcome } from '#lib/execution';
import type { ToolCatalog } from '#lib/tools';
import { auditOf, type Caller } from './caller.js';
import type { RunEnqueuer } from './run.enqueuer.js';
import type { TasksService } from './tasks.service.js';
import { argumentsCheck } from './tool-arguments.js';

/** An answer to what a task waits for. */
export interface ResumeRequest {
  /** What is answered; absent: whatever the task waits for now. */
  readonly waitId?: string;
  readonly answer: AnswerRequest;
  /** Kept in the log with the answer, so that a repeat of the request can be told from another one. */
  readonly key?: string;
  readonly requestId: string;
}

/** A task whose answer was accepted, and the number of the run that goes on with it. */
export type Resumed = Pick<TaskSnapshot, 'taskId' | 'state' | 'runNo'>;

interface Wait {
  readonly task: TaskSnapshot;
  readonly waitId: string;
}

/** Takes answers in. The first one to a wait is accepted, every other is told what that was. */
export class AnswersService {
  constructor(
    private readonly tasks: TasksService,
    private readonly store: TaskStore,
    private readonly writer: EventWriter,
    private readonly means: { readonly enqueuer: RunEnqueuer; readonly tools: ToolCatalog },
  ) {}

  /**
   * @throws DomainError `not_found`, `not_waiting`, `wait_changed`, `wait_id_required`, `invalid_request`,
   * `invalid_edited_args`, `ambiguous_input`, `answer_required`, `payload_too_large`
   */
  async resume(caller: Caller, taskId: string, request: ResumeRequest): Promise<Resumed> {
    const wait = await this.currentWait(caller, taskId, request);
    const items = decideAnswer(
      wait.task.pendingConfirmations,
      request.answer,
      argumentsCheck(this.means.tools, caller.tenant),
    );
    const outcome = await this.accept(caller, wait, { items, ...request });
    if (outcome.kind === 'refused') throw new Error('an answer was refused', { cause: outcome.cause });
    if (outcome.kind === 'unavailable') {
      throw new DomainError('unavailable', 'The answer could not be taken now.', { retryAfterSeconds: 1 });
    }
    if (outcome.kind === 'fenced') throw await this.whyLate(caller, wait);
    const { taskKey, tenant, pool, priority, runNo } = wait.task;
    this.means.enqueuer.add({ taskKey, runNo: runNo + 1, tenant, pool, priority, delayMs: 0 });
    return { taskId: wait.task.taskId, state: 'running', runNo: runNo + 1 };
  }

  /** What the task waits for, as far as the request can mean it. */
  private async currentWait(caller: Caller, taskId: string, request: ResumeRequest): Promise<Wait> {
    const task = await this.tasks.snapshot(caller, taskId);
    const last = await this.store.lastDecision(task.taskKey);
    const { waitId } = task;
    if (waitId === null || last?.waitId === waitId) throw notWaiting(last);
    if (request.waitId !== undefined && request.waitId !== waitId) throw waitChanged(waitId, last);
    // It was meant for the pause its sender has seen, which may be an earlier one.
    if (last && request.waitId === undefined && namesNothing(request.answer)) {
      const faults = [{ path: '/wait_id', code: 'wait_id_required', message: 'is required after the first pause' }];
      throw new DomainError('wait_id_required', '/wait_id: is required after the first pause.', { faults });
    }
    return { task, waitId };
  }

  /** One compare-and-set on the wait: of two answers, or an answer and an end, the first one stands. */
  private accept(
    caller: Caller,
    { task, waitId }: Wait,
    { items, key, requestId }: { readonly items: readonly ItemAnswer[] } & Pick<ResumeRequest, 'key' | 'requestId'>,
  ): Promise<WriteOutcome> {
    const { taskKey, taskId, runNo, pendingConfirmations } = task;
    const answered = { waitId, decidedBy: caller.principal, items, ...(key === undefined ? {} : { key }) };
    return this.writer.append({
      taskKey,
      taskId,
      guard: { kind: 'control', from: ['waiting_for_input'], runNo, waitId },
      events: [draftAnswer(answered), ...draftDenials(pendingConfirmations, answered)],
      answer: JSON.stringify(toTaskAnswer(items)),
      dispatch: { runNo: runNo + 1, reason: 'resumed', delayMs: 0 },
      audit: [
        auditOf(caller, {
          action: 'task.resume',
          target: taskId,
          details: { wait_id: waitId, decisions: items.map(summarise) },
          requestId,
        }),
      ],
    });
  }

  private async whyLate(caller: Caller, { task, waitId }: Wait): Promise<DomainError> {
    const now = await this.tasks.snapshot(caller, task.taskId);
    const last = await this.store.lastDecision(task.taskKey);
    if (now.waitId === null) return notWaiting(last);
    return now.waitId === waitId ? notWaiting(last, 'The time for an answer is over.') : waitChanged(now.waitId, last);
  }
}

function draftAnswer(answered: Parameters<typeof draftResumed>[0]): ReturnType<typeof draftResumed> {
  try {
    return draftResumed(answered);
  } catch (cause) {
    if (!(cause instanceof OversizeError)) throw cause;
    throw new DomainError('payload_too_large', 'The answer is too long to be recorded.', { cause });
  }
}

/** What goes into the audit trail: that arguments were changed, not to what. */
function summarise({ tool_call_id, approved, edited_args, error }: ItemAnswer): Readonly<Record<string, unknown>> {
  return { tool_call_id, approved, ...(edited_args && { edited: true }), ...(error !== undefined && { failed: true }) };
}

function notWaiting(
  last: RecordedDecision | undefined,
  message = 'The task is not waiting for an answer.',
): DomainError {
  return new DomainError('not_waiting', message, { extensions: { decision: encodeDecision(last) } });
}

function waitChanged(waitId: string, last: RecordedDecision | undefined): DomainError {
  return new DomainError('wait_changed', 'The task waits for something else by now.', {
    extensions: { wait_id: waitId, decision: encodeDecision(last) },
  });
}

function encodeDecision(last: RecordedDecision | undefined): Readonly<Record<string, unknown>> | null {
  if (!last) return null;
  const { waitId, decidedBy, decidedAtMs, decisions } = last;
  return { wait_id: waitId, decided_by: decidedBy, decided_at: new Date(decidedAtMs).toISOString(), decisions };
}
