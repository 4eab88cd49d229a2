import type { ResumeEntry } from '@ag-ui/core';
import {
  type AnswerRequest,
  canonicalJson,
  type DomainError,
  isDomainError,
  isTerminal,
  type SeenState,
  type NewThreadRun,
  type TaskId,
  type TaskSnapshot,
  type Thread,
  type ThreadRun,
  type ThreadStore,
} from '#lib/domain';
import { newMessages, type NewMessages, userMessages } from '#lib/protocol/ag-ui';
import { createHash, randomUUID } from 'node:crypto';
import type { AnswersService } from '../core/answers.service.js';
import { assertScopes, type Caller } from '../core/caller.js';
import type { CancellationsService } from '../core/cancellations.service.js';
import { isRecorded } from '../core/recorded-answers.js';
import type { SubmissionsService } from '../core/submissions.service.js';
import type { JsonDocument } from '../http/json-document.js';
import type { AgUiOptions } from './ag-ui.options.js';
import { type Answering, planAnswer } from './answer.plan.js';
import { decodeRun, encodeSubmission, type RunPlace, type RunRequest } from './runs.mapping.js';
import { RunRefusal } from './run.refusal.js';
import { noThread, type ThreadsService } from './threads.service.js';

/** A run that goes on, or has been. `task`: as it was found before its events are read. */
export interface StartedRun {
  readonly run: Pick<ThreadRun, 'runId' | 'taskId' | 'firstSeq'>;
  readonly task: SeenState;
  /** No other run of the thread came after it. */
  readonly isCurrent: boolean;
}

/** What a request comes to. `idle`: there is nothing to do. */
type Plan =
  | { readonly kind: 'new'; readonly messages: NewMessages }
  | ({ readonly kind: 'answer'; readonly messages?: NewMessages } & Answering)
  | { readonly kind: 'follow'; readonly run: ThreadRun }
  | { readonly kind: 'idle' };

export interface RunsPorts {
  readonly threads: ThreadStore;
  readonly submissions: Pick<SubmissionsService, 'submit'>;
  readonly answers: Pick<AnswersService, 'resume'>;
  readonly cancellations: Pick<CancellationsService, 'cancel'>;
}

/** Messages of the user that are looked for among those heard before. */
const MAX_MESSAGES = 1_000;

/** Takes runs in: each makes a task, or goes on with one that waits. */
export class RunsService {
  constructor(
    private readonly threads: ThreadsService,
    private readonly ports: RunsPorts,
    private readonly options: Pick<AgUiOptions, 'toolMode' | 'agentHeader' | 'contextHeaders'>,
  ) {}

  /** @throws DomainError `invalid_request` */
  read(document: JsonDocument, place: RunPlace): RunRequest {
    return decodeRun(document, place, this.options);
  }

  /**
   * The run a request asks for, whether it is new or was asked for before; undefined when there is nothing to do in it.
   * @throws RunRefusal, and DomainError as submissions and answers do
   */
  async start(caller: Caller, request: RunRequest): Promise<StartedRun | undefined> {
    const { threadId, runId } = request.input;
    const thread = await this.threads.find(caller, threadId, runId);
    const requestHash = hashOf(request.body);
    if (thread?.run) return this.again(caller, request, { thread, run: thread.run, requestHash });
    const task = await this.threads.current(caller, threadId, thread);
    const plan = await this.plan(caller, request, task);
    if (plan.kind === 'idle') return undefined;
    const owner = thread?.principal ?? task?.createdBy ?? caller.principal;
    const run = runOf(plan, request, { tenant: caller.tenant, principal: owner, requestHash });
    const reserved = await this.ports.threads.reserve(run);
    if (reserved.kind === 'busy') throw busy();
    if (reserved.kind === 'foreign') throw noThread();
    if (reserved.kind === 'known') return this.again(caller, request, { thread, run: reserved.run, requestHash });
    return this.carryOut(caller, request, plan, { run, owner }).catch(async (error: unknown) => {
      // What may have been done all the same keeps its name: whoever asks again is told.
      if (isCertain(error)) await this.ports.threads.release(run, runId);
      throw error;
    });
  }

  /** A run of this name was before. What its request asked for is done now, should that not have come to be. */
  private async again(
    caller: Caller,
    request: RunRequest,
    { run, thread, requestHash }: { run: ThreadRun; thread: Thread | undefined; requestHash: Uint8Array },
  ): Promise<StartedRun> {
    if (!Buffer.from(run.requestHash).equals(requestHash)) {
      throw new RunRefusal('RUN_ID_REUSED', 'The thread has another run of this id.');
    }
    const task = await this.threads.task(caller, run.taskId);
    const isStillOpen = task !== undefined && run.waitId !== undefined && task.waitId === run.waitId;
    if (task && !isStillOpen) return { run, task, isCurrent: thread?.newest?.runId === run.runId };
    const plan = await this.plan(caller, request, task);
    if (plan.kind === 'idle') throw new RunRefusal('INTERNAL_ERROR', 'The run cannot be found any more.');
    return this.carryOut(caller, request, plan, { run, owner: thread?.principal ?? caller.principal });
  }

  private async carryOut(
    caller: Caller,
    request: RunRequest,
    plan: Exclude<Plan, { kind: 'idle' }>,
    { run, owner }: { readonly run: ThreadRun; readonly owner: string },
  ): Promise<StartedRun> {
    if (plan.kind === 'answer') return this.answer(caller, request, plan, run);
    if (plan.kind === 'follow') {
      const task = await this.threads.task(caller, run.taskId);
      if (!task) throw new RunRefusal('INTERNAL_ERROR', 'The run cannot be found any more.');
      return { run, task, isCurrent: false };
    }
    const { input } = plan.messages;
    if (input === undefined)
      throw new RunRefusal('INVALID_INPUT_ERROR', '/messages: has nothing of the user to answer.');
    const submission = encodeSubmission(request, { input, taskId: run.taskId, clientToolMode: this.options.toolMode });
    const context = owner === caller.principal ? {} : { user_id: owner };
    return { run, task: await this.ports.submissions.submit(caller, submission(context)), isCurrent: true };
  }

  private async answer(caller: Caller, request: RunRequest, answering: Answering, run: ThreadRun): Promise<StartedRun> {
    const { task, waitId, answer } = answering;
    const { requestId } = request;
    assertScopes(caller, 'tasks:decide');
    if (answer === 'withdrawn') {
      assertScopes(caller, 'tasks:cancel');
      await this.ports.cancellations.cancel(caller, task.taskId, { reason: 'The question was cancelled.', requestId });
      return { run, task, isCurrent: true };
    }
    try {
      await this.ports.answers.resume(caller, task.taskId, { waitId, answer, requestId });
    } catch (error) {
      // The same answers may have come twice at once, under one name or two: the other gave them for both.
      if (!isDomainError(error) || !isGiven(error, answering, answer, caller.principal)) throw error;
    }
    return { run, task: { ...task, state: 'running' }, isCurrent: true };
  }

  private async plan(caller: Caller, request: RunRequest, task: TaskSnapshot | undefined): Promise<Plan> {
    const { input } = request;
    const { resume = [] } = input;
    const messages = newMessages(input, await this.heard(caller, request));
    const answersHash = resume.length > 0 ? hashOf(sorted(resume)) : undefined;
    const open = openOf(task);
    const planned = open && planAnswer(input, open.task, messages);
    if (planned?.kind === 'answer') return { ...planned, ...open!, answersHash };
    // Who cancels what is gone already, and has something to say, wants to get on instead of seeing how it went.
    const isPast = !open && resume.every(({ status }) => status === 'cancelled') && hasNews(messages);
    const before = answersHash && !isPast && (await this.answered(caller, request, answersHash));
    if (before) return { kind: 'follow', run: before };
    if (planned) throw new RunRefusal('AGUI_INTERRUPT_CONTRACT_ERROR', planned.message);
    return planWithout(resume, task, messages);
  }

  private answered({ tenant }: Caller, { input }: RunRequest, hash: Uint8Array): Promise<ThreadRun | undefined> {
    return this.ports.threads.answered({ tenant, threadId: input.threadId }, hash);
  }

  private heard({ tenant }: Caller, { input }: RunRequest): Promise<ReadonlySet<string>> {
    const { threadId, runId } = input;
    const ids = userMessages(input)
      .slice(-MAX_MESSAGES)
      .map(({ id }) => id);
    return ids.length === 0 ? Promise.resolve(new Set()) : this.ports.threads.heard({ tenant, threadId }, runId, ids);
  }
}

function openOf(task: TaskSnapshot | undefined): Pick<Answering, 'task' | 'waitId'> | undefined {
  return task?.state === 'waiting_for_input' && task.waitId !== null ? { task, waitId: task.waitId } : undefined;
}

function hasNews({ isAgain, input }: NewMessages): boolean {
  return !isAgain && input !== undefined;
}

/** True when the wait was answered in just this way, by the same principal. */
function isGiven({ extensions }: DomainError, { task, waitId }: Answering, answer: AnswerRequest, by: string): boolean {
  const taken = extensions['decision'] as TakenAnswer | null | undefined;
  if (taken?.wait_id !== waitId || taken.decided_by !== by) return false;
  return isRecorded(taken.decisions, task.pendingConfirmations, answer);
}

/** What the refusal of an answer says of the one that was taken. */
interface TakenAnswer {
  readonly wait_id: string;
  readonly decided_by: string;
  readonly decisions: Parameters<typeof isRecorded>[0];
}

/** Nothing is open. What is cancelled though it is gone already counts as closed. */
function planWithout(resume: readonly ResumeEntry[], task: TaskSnapshot | undefined, messages: NewMessages): Plan {
  if (resume.some(({ status }) => status !== 'cancelled')) {
    throw new RunRefusal('AGUI_INTERRUPT_CONTRACT_ERROR', '/resume: nothing is open in this thread.');
  }
  if (task && !isTerminal(task.state)) throw busy();
  return resume.length > 0 && !hasNews(messages) ? { kind: 'idle' } : { kind: 'new', messages };
}

function runOf(
  plan: Exclude<Plan, { kind: 'idle' }>,
  { input }: RunRequest,
  whose: Pick<NewThreadRun, 'tenant' | 'principal' | 'requestHash'>,
): NewThreadRun {
  const { threadId, runId, protocolVersion } = input;
  const messages = 'messages' in plan ? plan.messages : undefined;
  const common = {
    ...whose,
    threadId,
    runId,
    messageIds: messages?.ids ?? [],
    ...(protocolVersion === undefined ? {} : { wireVersion: protocolVersion.slice(0, 20) }),
  };
  if (plan.kind === 'new') return { ...common, taskId: randomUUID() as TaskId, firstSeq: 1 };
  if (plan.kind === 'follow') {
    const { taskId, firstSeq, waitId, answersHash } = plan.run;
    return {
      ...common,
      taskId,
      firstSeq,
      ...(waitId === undefined ? {} : { waitId }),
      ...(answersHash && { answersHash }),
    };
  }
  const { task, waitId, answersHash } = plan;
  // While it waits nothing is added to its log but what ends the wait.
  return { ...common, taskId: task.taskId, firstSeq: task.lastSeq + 1, waitId, ...(answersHash && { answersHash }) };
}

function hashOf(value: unknown): Uint8Array {
  return createHash('sha256').update(canonicalJson(value)).digest();
}

/** What a resume says, in whatever order. */
function sorted(resume: readonly ResumeEntry[]): readonly unknown[] {
  return [...resume]
    .sort((one, other) => (one.interruptId < other.interruptId ? -1 : 1))
    .map(({ interruptId, status, payload }) => [interruptId, status, (payload as unknown) ?? null]);
}

function isCertain(error: unknown): boolean {
  return (
    error instanceof RunRefusal || (isDomainError(error) && error.code !== 'unavailable' && error.code !== 'internal')
  );
}

function busy(): RunRefusal {
  return new RunRefusal('THREAD_BUSY', 'The thread has a run that has not ended.');
}
