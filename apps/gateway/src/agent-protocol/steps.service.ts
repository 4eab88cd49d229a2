import { DomainError, type LoggedEvent, type TaskKey, type TaskSnapshot } from '#lib/domain';
import { type RequestBody, type Step, STEP_EVENTS, StepBook } from '#lib/protocol/agent-protocol';
import type { AnswersService } from '../core/answers.service.js';
import { assertScopes, type Caller } from '../core/caller.js';
import type { ResultsService } from '../core/results.service.js';
import type { ReleasesService } from '../core/releases.service.js';
import type { StreamsService } from '../core/streams.service.js';
import type { TaskRecordsService } from '../core/task-records.service.js';
import type { TasksService } from '../core/tasks.service.js';
import { decodeStepAnswer } from './agent-protocol.mapping.js';
import { withWholeOutput } from './whole-output.js';

export interface StepsPorts {
  readonly tasks: Pick<TasksService, 'snapshot'>;
  readonly streams: Pick<StreamsService, 'follow' | 'select'>;
  readonly answers: Pick<AnswersService, 'resume'>;
  readonly releases: Pick<ReleasesService, 'release'>;
  readonly results: Pick<ResultsService, 'textOf'>;
  readonly records: Pick<TaskRecordsService, 'stepCursor' | 'moveStepCursor'>;
}

/** A step to be executed. */
export interface ExecuteRequest {
  readonly body: RequestBody;
  readonly requestId: string;
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** The steps of tasks, and how clients drive tasks by them: each execution is handed the next one. */
export class StepsService {
  constructor(
    private readonly ports: StepsPorts,
    private readonly waitMs: number,
  ) {}

  /** All there are. */
  async list(caller: Caller, taskId: string): Promise<readonly Step[]> {
    const task = await this.ports.tasks.snapshot(caller, taskId);
    const steps = (await this.book(task)).list();
    return Promise.all(steps.map((step) => withWholeOutput(this.ports.results, task, step)));
  }

  async get(caller: Caller, taskId: string, stepId: string): Promise<Step> {
    const task = await this.ports.tasks.snapshot(caller, taskId);
    const step = (await this.book(task)).find(stepId);
    if (!step) throw new DomainError('not_found', 'The task has no such step.');
    return withWholeOutput(this.ports.results, task, step);
  }

  /**
   * Lets the task start if it is held, takes the answer to what it waits for, and resolves with the next step that nobody
   * was handed yet, or with the one that is under way when none is over in time. After the last one it is that again.
   */
  async execute(caller: Caller, taskId: string, request: ExecuteRequest): Promise<Step> {
    const { body, requestId } = request;
    const { task } = await this.ports.releases.release(caller, taskId, { input: body.input, requestId });
    const answered = await this.answer(caller, task, request);
    return this.next(caller, answered ? await this.ports.tasks.snapshot(caller, taskId) : task, request.signal);
  }

  /** False when the request answers nothing. */
  private async answer(caller: Caller, task: TaskSnapshot, { body, requestId }: ExecuteRequest): Promise<boolean> {
    if (task.state !== 'waiting_for_input' || (body.input === undefined && !body.additionalInput)) return false;
    const wait = (await this.book(task)).openWait();
    if (!wait) return false;
    const isHandedOut = (await this.ports.records.stepCursor(task.taskKey)) >= wait.seq;
    const meant = decodeStepAnswer(body, wait, isHandedOut);
    if (!meant) return false;
    assertScopes(caller, 'tasks:decide');
    await this.ports.answers.resume(caller, task.taskId, { ...meant, requestId });
    return true;
  }

  private async next(caller: Caller, task: TaskSnapshot, signal: AbortSignal): Promise<Step> {
    const book = new StepBook(task.taskId);
    const hand = new Hand(this.ports.records, task.taskKey, book);
    const following = { timeoutMs: this.waitMs, signal, types: STEP_EVENTS };
    const step = await this.ports.streams.follow(caller, task, following, (events) => hand.outOf(events));
    const shown = step ?? book.current();
    if (!shown) throw new DomainError('unavailable', 'The steps could not be read now.', { retryAfterSeconds: 1 });
    return withWholeOutput(this.ports.results, task, shown);
  }

  private async book(task: TaskSnapshot): Promise<StepBook> {
    const book = new StepBook(task.taskId);
    for (const event of await this.ports.streams.select(task, STEP_EVENTS)) book.apply(event);
    return book;
  }
}

/** Hands out the steps of one task, as its log is read. Who moves the cursor in the database has the step. */
class Hand {
  private cursor: number | undefined;

  constructor(
    private readonly records: StepsPorts['records'],
    private readonly taskKey: TaskKey,
    private readonly book: StepBook,
  ) {}

  async outOf(events: readonly LoggedEvent[]): Promise<Step | undefined> {
    for (const event of events) this.book.apply(event);
    for (;;) {
      const cursor = (this.cursor ??= await this.records.stepCursor(this.taskKey));
      const next = this.book.nextAfter(cursor);
      if (!next) return this.lasting();
      if (await this.records.moveStepCursor(this.taskKey, cursor, next.seq)) return next.step;
      this.cursor = undefined;
    }
  }

  /** Handed out before, and there is nothing else: the wait for an answer, or the end. */
  private lasting(): Step | undefined {
    const end = this.book.end();
    return this.book.openWait()?.step ?? (end?.is_last ? end : undefined);
  }
}
