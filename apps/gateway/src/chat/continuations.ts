import { isDomainError, type LoggedEventOf, type TaskSnapshot } from '#lib/domain';
import type { ChatMessage } from '#lib/protocol/openai-chat';
import type { AnswersService } from '../core/answers.service.js';
import { assertScopes, type Caller } from '../core/caller.js';
import { isRecorded } from '../core/recorded-answers.js';
import type { StreamsService } from '../core/streams.service.js';
import type { TasksService } from '../core/tasks.service.js';
import { invalid } from '../http/dto.js';
import { type CallRef, decodeCallId } from './call-ids.js';
import { answerOf, type CallResult, callsOf, type Manner, type Pause } from './pauses.js';
import { pauseOf } from './reply.stream.js';

/** A request as far as it may go on with a task. */
export interface Continuation {
  readonly agentId: string;
  readonly messages: readonly ChatMessage[];
  readonly manner: Manner;
  readonly requestId: string;
}

/** A task and where in its log an answer begins: after that event. */
export interface Segment {
  readonly task: TaskSnapshot;
  readonly afterSeq: number;
}

interface Answered {
  readonly pause: Pause;
  readonly results: ReadonlyMap<string, CallResult>;
}

/**
 * Finds the task whose calls a request answers, by nothing but what both sides hold: the ids of the calls and the log. So any
 * gateway can, at any time, and the same request again is told the same again.
 */
export class Continuations {
  constructor(
    private readonly tasks: TasksService,
    private readonly streams: Pick<StreamsService, 'select'>,
    private readonly answers: AnswersService,
  ) {}

  /**
   * Takes the results in, once. Undefined: the request goes on with no task of this caller, whatever its ids look like.
   * @throws DomainError `invalid_request` for results that are missing or cannot be read, `forbidden`
   */
  async take(caller: Caller, { agentId, messages, manner, requestId }: Continuation): Promise<Segment | undefined> {
    const results = trailingResults(messages);
    const ref = commonRef([...results.keys()]);
    const task = ref && (await this.tasks.find(caller, ref.taskKey));
    if (!ref || !task || task.agentId !== agentId || task.createdBy !== caller.principal) return undefined;
    const pause = await this.pause(task, ({ seq }) => seq === ref.seq);
    if (!pause) return undefined;
    const calls = callsOf(pause, manner).map(({ id }) => id);
    if (![...results.keys()].every((id) => calls.includes(id))) return undefined;
    const isAnswered =
      task.waitId === pause.waitId &&
      (await this.answer(caller, { pause, results }, { missing: calls.filter((id) => !results.has(id)), requestId }));
    const isTold = isAnswered || (await this.isRepeat(task, { pause, results }));
    return isTold ? { task: { ...task, state: 'running' }, afterSeq: pause.seq } : undefined;
  }

  /** The wait that a task is in. */
  async currentPause(task: TaskSnapshot): Promise<Pause | undefined> {
    if (task.waitId === null) return undefined;
    return this.pause(task, ({ payload }) => payload.wait_id === task.waitId);
  }

  private async pause(
    task: TaskSnapshot,
    isIt: (event: LoggedEventOf<'task.waiting_for_input'>) => boolean,
  ): Promise<Pause | undefined> {
    const found = (await this.streams.select(task, ['task.waiting_for_input'])).find(isIt);
    return found && pauseOf(found, task);
  }

  /** True when this was the answer, false when another one has come first, or the task has ended. */
  private async answer(
    caller: Caller,
    { pause, results }: Answered,
    { missing, requestId }: { readonly missing: readonly string[]; readonly requestId: string },
  ): Promise<boolean> {
    if (missing.length > 0) {
      const message = `must answer all calls: ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing`;
      throw invalid([{ path: '/messages', code: 'invalid_value', message }]);
    }
    assertScopes(caller, 'tasks:decide');
    const answer = answerOf(pause, results);
    try {
      await this.answers.resume(caller, pause.taskId, { waitId: pause.waitId, answer, requestId });
      return true;
    } catch (error) {
      if (isTooLate(error)) return false;
      throw error;
    }
  }

  /** True when the wait was answered with just this. */
  private async isRepeat(task: TaskSnapshot, { pause, results }: Answered): Promise<boolean> {
    const events = await this.streams.select(task, ['task.resumed']);
    const found = events.find(({ payload }) => payload.wait_id === pause.waitId);
    return found !== undefined && isRecorded(found.payload.decisions, pause.items, answerOf(pause, results));
  }
}

/** Somebody else was quicker. */
export function isTooLate(error: unknown): boolean {
  return isDomainError(error) && (error.code === 'not_waiting' || error.code === 'wait_changed');
}

/** The results a conversation ends with, by call. */
function trailingResults(messages: readonly ChatMessage[]): ReadonlyMap<string, CallResult> {
  const first = messages.findLastIndex(({ role }) => role !== 'tool') + 1;
  return new Map(
    messages.slice(first).flatMap((message, index) => {
      if (message.role !== 'tool') return [];
      const text = message.content.map((part) => part.text).join('');
      return [[message.tool_call_id, { text, path: `/messages/${first + index}` }] as const];
    }),
  );
}

/** What all ids speak of; undefined when it is not one wait. */
function commonRef(ids: readonly string[]): CallRef | undefined {
  const [first, ...others] = ids.map(decodeCallId);
  if (!first || !others.every((ref) => ref?.taskKey === first.taskKey && ref.seq === first.seq)) return undefined;
  return first;
}
