import type { LoggedEvent } from '#lib/domain';
import { EventEncoder } from '@ag-ui/encoder';
import type { AgUiEvent, RunMapper } from '#lib/protocol/ag-ui';
import type { LoggedEventStream } from '../core/logged-events.js';

/** Without an `accept`: whoever takes anything would be given the binary form, which is not offered. */
const encoder = new EventEncoder();

/** Frames of one event of the log that have a number of their own. */
const NUMBERS = 8;
/** How long a run that was told to stop is waited for. */
const GRACE_MS = 15_000;

/** The log of one task, and the run that begins at a place in it. */
export interface RunPart {
  readonly open: () => Promise<LoggedEventStream>;
  readonly mapperAt: (firstSeq: number) => RunMapper;
  /** The part ends with the run that this event is of. */
  readonly untilSeq: number;
}

/** How long a run may take. */
export interface RunLimit {
  readonly ms: number;
  /** Of the newest event of its task. */
  readonly lastSeq: () => Promise<number>;
  readonly stop: () => Promise<unknown>;
}

/** What frames are written, and for how long. */
export interface FrameTerms {
  /** Frames have ids, which belong to one task. */
  readonly hasIds: boolean;
  /** The id of the last frame that its reader has seen. */
  readonly afterId?: number;
  readonly limit?: RunLimit;
}

/**
 * Ready text of the runs of some tasks, whole frames, those that came together joined. Ends right after the last terminal
 * event. `return()` settles a `next()` that waits.
 */
export class RunFrames implements AsyncIterableIterator<string> {
  private mapper: RunMapper | undefined;
  private isDone = false;
  private isStopped = false;
  private deadlineMs: number | undefined;
  private seenSeq = 0;
  /** What was in the log when the time was over: who reads slowly must not stop what came after the run. */
  private dueSeq: number | undefined;

  private constructor(
    private events: LoggedEventStream,
    private part: RunPart,
    private readonly rest: RunPart[],
    private readonly terms: FrameTerms,
  ) {
    if (terms.limit) this.deadlineMs = Date.now() + terms.limit.ms;
  }

  /** Resolves when the first stream is in force. */
  static async open([first, ...rest]: readonly [RunPart, ...RunPart[]], terms: FrameTerms): Promise<RunFrames> {
    return new RunFrames(await first.open(), first, rest, terms);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    while (!this.isDone) {
      const text = await this.read();
      if (text !== '') return { done: false, value: text };
    }
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<string, undefined>> {
    this.isDone = true;
    await this.events.return();
    return { done: true, value: undefined };
  }

  /** The end of a stream that is cut from our side: a consumer takes one without for complete. */
  farewell(): string {
    const mapper = this.mapper ?? this.part.mapperAt(0);
    return plain(mapper.cut('INTERRUPTED_ERROR', 'The stream was ended by the gateway; the run goes on.'));
  }

  private async read(): Promise<string> {
    const next = await this.nextInTime();
    if (!next) return this.overdue();
    if (this.isDone) return '';
    if (next.done) return this.finish(this.farewell());
    const texts = next.value.map((event) => this.take(event));
    this.seenSeq = Math.max(this.seenSeq, ...next.value.map(({ seq }) => seq));
    if (this.isPartOver(next.value)) await this.advance();
    return texts.join('');
  }

  private nextInTime(): ReturnType<LoggedEventStream['nextWithin']> {
    const { events, deadlineMs, dueSeq = 0 } = this;
    const isBehind = this.seenSeq < dueSeq;
    return deadlineMs === undefined || isBehind ? events.next() : events.nextWithin(deadlineMs - Date.now());
  }

  private take(event: LoggedEvent): string {
    if (event.seq === 0 || (this.mapper?.isOver === true && event.seq > this.part.untilSeq)) return '';
    if (this.mapper === undefined || this.mapper.isOver) {
      this.mapper = this.part.mapperAt(event.seq);
      if (this.terms.limit && !this.isStopped) this.deadlineMs = Date.parse(event.timestamp) + this.terms.limit.ms;
    }
    const events = this.mapper.take(event);
    return this.terms.hasIds ? numbered(event.seq, events, this.terms.afterId ?? -1) : plain(events);
  }

  private isPartOver(events: readonly LoggedEvent[]): boolean {
    return this.mapper?.isOver === true && (events.at(-1)?.seq ?? 0) >= this.part.untilSeq;
  }

  private async advance(): Promise<void> {
    await this.events.return();
    const part = this.rest.shift();
    if (!part) return void (this.isDone = true);
    this.part = part;
    this.mapper = undefined;
    this.events = await part.open();
    // Whoever left meanwhile has closed the one before.
    if (this.isDone) await this.events.return();
  }

  /** The run is told to stop, and what it says then is its end; if it says nothing, that is. */
  private async overdue(): Promise<string> {
    if (this.isStopped) {
      const mapper = this.mapper ?? this.part.mapperAt(0);
      return this.finish(plain(mapper.cut('TIMEOUT_ERROR', 'The run took too long.')));
    }
    const { limit } = this.terms;
    this.dueSeq ??= await limit!.lastSeq();
    if (this.seenSeq < this.dueSeq) return '';
    this.isStopped = true;
    this.deadlineMs = Date.now() + GRACE_MS;
    await limit!.stop();
    return '';
  }

  private async finish(text: string): Promise<string> {
    await this.return();
    return text;
  }
}

/** Ids are stable: they come from the event of the log. What has no number left comes with the last of them. */
export function numbered(seq: number, events: readonly AgUiEvent[], afterId: number): string {
  const lastId = seq * NUMBERS + NUMBERS - 1;
  return events
    .map((event, place) => {
      const isNumbered = place < NUMBERS - 1 || place === events.length - 1;
      const id = Math.min(seq * NUMBERS + place, lastId);
      if (id <= afterId) return '';
      return `${isNumbered ? `id: ${id}\n` : ''}${encoder.encodeSSE(event)}`;
    })
    .join('');
}

/** Frames nobody can come back to. */
export function plain(events: readonly AgUiEvent[]): string {
  return events.map((event) => encoder.encodeSSE(event)).join('');
}
