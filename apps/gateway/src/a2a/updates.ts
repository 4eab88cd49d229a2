import type { StreamResponse } from '@a2a-js/sdk';
import { TaskState } from '@a2a-js/sdk';
import { isFinal, type TaskTranscript } from '#lib/protocol/a2a';
import type { StreamsService } from '../core/streams.service.js';
import type { SeenState } from '#lib/domain';
import type { A2aCall } from './calls.js';

/** What a stream shows of a task. */
export interface StreamTerms {
  readonly seen: SeenState;
  readonly transcript: TaskTranscript;
  readonly historyLength: number | undefined;
  /** It ends where the task waits for its client: the answer is another request. */
  readonly endsAtQuestion: boolean;
}

/**
 * A task as it was seen, and then each change of it from exactly there. All of it comes from one reading of its log, so that
 * nothing can be missing or repeated between the two.
 */
export async function* updatesOf(
  call: A2aCall,
  streams: StreamsService,
  { seen, transcript, historyLength, endsAtQuestion }: StreamTerms,
): AsyncGenerator<StreamResponse, void, undefined> {
  const log = await streams.openSeenEvents(seen);
  // A generator that waits cannot be ended from outside; what it waits for can.
  call.onLeave(() => void log.return());
  const isOver = (): boolean =>
    isFinal(transcript.state) || (endsAtQuestion && transcript.state === TaskState.TASK_STATE_INPUT_REQUIRED);
  let isShown = false;
  try {
    for await (const batch of log) {
      for (const event of batch) {
        const changes = transcript.apply(event);
        if (isShown) yield* changes;
        else if (event.seq >= seen.lastSeq) {
          yield { payload: { $case: 'task', value: transcript.task({ historyLength, hasArtifacts: true }) } };
          isShown = true;
        }
        if (isShown && isOver()) return;
      }
    }
  } finally {
    await log.return();
  }
}

/** A stream of frames made of another stream: whoever leaves ends what it waits for. */
export class UpdateFrames<T> implements AsyncIterableIterator<string> {
  private first: IteratorResult<T, unknown> | undefined;

  private constructor(
    private readonly call: A2aCall,
    private readonly source: AsyncIterator<T, unknown>,
    private readonly encode: (update: T) => unknown,
  ) {}

  /** With the first of them at hand, so that what fails before it still has a status. */
  static async open<T>(
    call: A2aCall,
    source: AsyncIterator<T, unknown>,
    encode: (update: T) => unknown,
  ): Promise<UpdateFrames<T>> {
    const frames = new UpdateFrames(call, source, encode);
    try {
      frames.first = await source.next();
    } catch (error) {
      call.leave();
      throw call.failure ?? error;
    }
    return frames;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    const next = this.first ?? (await this.source.next());
    this.first = undefined;
    if (next.done === true) return { done: true, value: undefined };
    return { done: false, value: `data: ${JSON.stringify(this.encode(next.value))}\n\n` };
  }

  async return(): Promise<IteratorResult<string, undefined>> {
    this.call.leave();
    await this.source.return?.();
    return { done: true, value: undefined };
  }
}
