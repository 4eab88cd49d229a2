import { type ArtifactBody, isTerminalEvent, type LoggedEvent, type LoggedEventOf } from '#lib/domain';
import { type AnswerPart, encodeCancelled, encodeFailed, encodeLeaving } from '#lib/protocol/openai-chat';
import type { LoggedEventStream } from '../core/logged-events.js';
import { finishOf, Narration } from './narration.js';
import { type Manner, partsOfPause, type Pause } from './pauses.js';

/** How the events of a task are told to one client. */
export interface ReplyTerms extends Manner {
  readonly task: Pick<Pause, 'taskKey' | 'taskId'>;
  readonly isLive: boolean;
  readonly showsThoughts: boolean;
  /** What an event says of a value, where the task has it as an artifact the whole of it. */
  readonly valueOf: (told: unknown) => Promise<unknown>;
  /** Denies what is to be approved; done too where somebody else has answered first. */
  readonly deny: (pause: Pause) => Promise<void>;
  /** The text of the result, where the task has it as an artifact. */
  readonly whole: () => Promise<string>;
  /** What is told of artifacts. */
  readonly describe: (artifacts: readonly ArtifactBody[]) => Promise<readonly object[]>;
}

/** The parts of one answer, those that came together at once. */
export class ReplyStream implements AsyncIterableIterator<readonly AnswerPart[]> {
  private readonly parts: AsyncGenerator<readonly AnswerPart[], void, undefined>;

  constructor(
    private readonly events: LoggedEventStream,
    terms: ReplyTerms,
  ) {
    this.parts = partsOf(events, terms);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<readonly AnswerPart[], void>> {
    return this.parts.next();
  }

  /** Settles a `next()` that waits: the generator alone would wait for it. */
  async return(): Promise<IteratorResult<readonly AnswerPart[], void>> {
    await this.events.return();
    return this.parts.return();
  }
}

type Waiting = LoggedEventOf<'task.waiting_for_input'>;

async function* partsOf(
  batches: AsyncIterable<readonly LoggedEvent[]>,
  terms: ReplyTerms,
): AsyncGenerator<readonly AnswerPart[], void, undefined> {
  const narration = new Narration(terms.isLive, terms.showsThoughts);
  const artifacts: ArtifactBody[] = [];
  for await (const batch of batches) {
    const told: AnswerPart[] = [];
    for (const event of batch) {
      told.push(...narration.take(event));
      if (event.type === 'artifact.created' && event.payload.artifact.kind === 'produced') {
        artifacts.push(event.payload.artifact);
      }
      const end =
        event.type === 'task.waiting_for_input' ? await endOfPause(event, terms) : await endOf(event, narration, terms);
      if (!end) continue;
      yield [...told, ...(await withArtifacts(end, artifacts, terms))];
      return;
    }
    if (told.length > 0) yield told;
  }
  yield [{ kind: 'failure', failure: encodeLeaving() }];
}

/** The wait an event began. */
export function pauseOf({ seq, payload }: Waiting, { taskKey, taskId }: ReplyTerms['task']): Pause {
  return { taskKey, taskId, seq, waitId: payload.wait_id, items: payload.confirmations };
}

async function endOfPause(event: Waiting, terms: ReplyTerms): Promise<readonly AnswerPart[] | undefined> {
  const told = pauseOf(event, terms.task);
  const items = told.items.map(async (item) => ({ ...item, arguments: await terms.valueOf(item.arguments) }));
  const pause = { ...told, items: await Promise.all(items) };
  const parts = partsOfPause(pause, terms);
  if (!parts) await terms.deny(pause);
  return parts;
}

async function endOf(
  event: LoggedEvent,
  narration: Narration,
  { whole }: ReplyTerms,
): Promise<readonly AnswerPart[] | undefined> {
  if (!isTerminalEvent(event.type)) return undefined;
  if (event.type === 'task.succeeded') {
    const { result, usage } = event.payload;
    const isMoved = 'artifact' in result.metadata && narration.isUntold;
    const answer = narration.conclude(isMoved ? await whole() : undefined);
    return [...answer, { kind: 'end', finish: finishOf(result.metadata), usage: narration.usage(usage) }];
  }
  const failure = event.type === 'task.failed' ? encodeFailed(event.payload.error) : encodeCancelled();
  return [{ kind: 'failure', failure }];
}

async function withArtifacts(
  parts: readonly AnswerPart[],
  artifacts: readonly ArtifactBody[],
  { describe }: ReplyTerms,
): Promise<readonly AnswerPart[]> {
  if (artifacts.length === 0) return parts;
  const described = await describe(artifacts);
  return parts.map((part) =>
    part.kind === 'end' ? { ...part, gateway: { ...part.gateway, artifacts: described } } : part,
  );
}
