import type { Request, Response } from 'express';
import type { Logger } from '#lib/domain';
import {
  type AnswerPart,
  type ChatCompletion,
  ChunkEncoder,
  CompletionBuilder,
  encodeError,
  encodeErrorFrame,
  encodeLate,
  encodeLeaving,
  type Failure,
} from '#lib/protocol/openai-chat';
import type { Quotas } from '../core/quotas.js';
import type { TasksService } from '../core/tasks.service.js';
import { leftSignal, sendJson } from '../http/exchange.js';
import { toDomainError } from '../http/problem.js';
import type { EventStreams } from '../http/sse.js';
import type { ChatOptions } from './chat.options.js';
import type { Ask, ChatService, Reply } from './chat.service.js';

export interface ReplyMeans {
  readonly tasks: Pick<TasksService, 'assertStill'>;
  readonly streams: EventStreams;
  readonly quotas: Pick<Quotas, 'hold'>;
  readonly logger: Logger;
}

/** An answer on its way to a client who may leave. */
interface Sending {
  readonly reply: Reply;
  /** True once nothing is left to tell: a client that closes now has all of it. */
  isComplete: boolean;
}

/** Sends answers: whole ones, or as chunks. */
export class Replies {
  constructor(
    private readonly chat: ChatService,
    private readonly means: ReplyMeans,
    private readonly options: ChatOptions,
  ) {}

  async stream(ask: Ask, request: Request, response: Response): Promise<void> {
    const open = async (): Promise<ChunkStream> => {
      const sending = await this.open(ask, response);
      const encoder = new ChunkEncoder(sending.reply.head, ask.request.includesUsage);
      return new ChunkStream(sending, encoder, (error) => this.report(ask, error));
    };
    await this.means.streams.serve(request, response, open);
  }

  async answer(ask: Ask, response: Response): Promise<void> {
    const sinceMs = performance.now();
    // Refused before there is a task: what is refused later is not asked again.
    const slot = this.means.quotas.hold('waits', ask.caller);
    try {
      const signal = leftSignal(response);
      const sending = await this.open(ask, response, signal);
      const outcome = (await collect(sending.reply, sinceMs + this.options.maxWaitMs, signal)) ?? this.late(sending);
      sending.isComplete = true;
      await this.means.tasks.assertStill(ask.caller, sinceMs);
      if ('error' in outcome) return sendJson(response, outcome.status, JSON.stringify({ error: outcome.error }));
      sendJson(response, 200, JSON.stringify(outcome));
    } finally {
      slot.release();
    }
  }

  private async open(ask: Ask, response: Response, signal = leftSignal(response)): Promise<Sending> {
    const reply = await this.chat.open(ask);
    const sending: Sending = { reply, isComplete: false };
    response.setHeader('X-Task-Id', reply.task.taskId);
    // There is a task now: who asks again would only get it again, failed.
    response.setHeader('X-Should-Retry', 'false');
    const left = (): void => this.left(sending);
    if (signal.aborted) left();
    else signal.addEventListener('abort', left, { once: true });
    return sending;
  }

  /** Its client may come back within the grace, by another gateway too. */
  private left(sending: Sending): void {
    if (!sending.isComplete) sending.reply.leave(this.options.graceMs);
  }

  private late(sending: Sending): Failure {
    sending.reply.leave(0);
    const what =
      this.options.onDisconnect === 'cancel' ? 'it is cancelled' : 'it goes on, and is had by metadata.task_id';
    return encodeLate(`The task took longer than ${this.options.maxWaitMs / 1_000} s: ${what}.`);
  }

  private report({ requestId }: Ask, error: unknown): Failure {
    const known = toDomainError(error);
    if (known.code === 'internal') this.means.logger.error('an answer broke off', { requestId, error });
    return encodeError(known, 'task');
  }
}

/** The outcome of an answer that is no stream; undefined when it does not come in time. Rejects with the reason of `signal`. */
async function collect(
  { head, parts }: Reply,
  endMs: number,
  signal: AbortSignal,
): Promise<ChatCompletion | Failure | undefined> {
  const builder = new CompletionBuilder(head);
  let isLate = false;
  const stop = (): void => void parts.return();
  const timer = setTimeout(() => {
    isLate = true;
    stop();
  }, endMs - performance.now());
  signal.addEventListener('abort', stop, { once: true });
  try {
    signal.throwIfAborted();
    for await (const batch of parts) for (const part of batch) builder.add(part);
    signal.throwIfAborted();
    return isLate ? undefined : builder.outcome();
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    stop();
  }
}

const ENDS: ReadonlySet<AnswerPart['kind']> = new Set(['end', 'failure']);

/** The frames of one answer. It always ends with a chunk that says why, or with an error. */
class ChunkStream implements AsyncIterableIterator<string> {
  private isBegun = false;

  constructor(
    private readonly sending: Sending,
    private readonly encoder: ChunkEncoder,
    private readonly report: (error: unknown) => Failure,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    if (this.sending.isComplete) return { done: true, value: undefined };
    if (this.isBegun) return { done: false, value: this.encode(await this.read()) };
    this.isBegun = true;
    return { done: false, value: this.encoder.begin() };
  }

  /** Where we go away before its end. */
  farewell(): string {
    return this.sending.isComplete ? '' : encodeErrorFrame(encodeLeaving().error);
  }

  async return(): Promise<IteratorResult<string, undefined>> {
    await this.sending.reply.parts.return();
    return { done: true, value: undefined };
  }

  private async read(): Promise<readonly AnswerPart[]> {
    try {
      const next = await this.sending.reply.parts.next();
      return next.done ? [{ kind: 'failure', failure: encodeLeaving() }] : next.value;
    } catch (error) {
      return [{ kind: 'failure', failure: this.report(error) }];
    }
  }

  private encode(parts: readonly AnswerPart[]): string {
    this.sending.isComplete = parts.some(({ kind }) => ENDS.has(kind));
    return parts.map((part) => this.encoder.encode(part)).join('');
  }
}
