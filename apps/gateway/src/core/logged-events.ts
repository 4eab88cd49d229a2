import { envelopeOf, type EventId, type Frame, type LoggedEvent } from '#lib/domain';
import { within } from '#lib/platform';
import type { FeedReader } from './task-feed.js';

interface Envelope extends Pick<LoggedEvent, 'timestamp' | 'payload'> {
  readonly event_id?: EventId;
}

export function readFrame(frame: Frame): LoggedEvent {
  const { event_id, timestamp, payload } = JSON.parse(envelopeOf(frame)) as Envelope;
  return { type: frame.type, payload, seq: frame.seq, eventId: event_id, timestamp } as LoggedEvent;
}

/**
 * The events of a task, those that came together at once, in order and without holes. Ends right after the terminal event;
 * `return()` settles a `next()` that waits.
 */
export class LoggedEventStream implements AsyncIterableIterator<readonly LoggedEvent[]> {
  private pending: Promise<IteratorResult<readonly LoggedEvent[], undefined>> | undefined;

  constructor(
    private readonly reader: FeedReader,
    /** What is at hand already, and comes first. */
    private past: readonly LoggedEvent[] = [],
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<readonly LoggedEvent[], undefined>> {
    const next = await (this.pending ?? this.read());
    this.pending = undefined;
    return next;
  }

  /** Undefined when nothing has come in time; what comes later is the next one's. */
  async nextWithin(ms: number): Promise<IteratorResult<readonly LoggedEvent[], undefined> | undefined> {
    this.pending ??= this.read();
    const next = await within(this.pending, ms);
    if (next) this.pending = undefined;
    return next;
  }

  async return(): Promise<IteratorResult<readonly LoggedEvent[], undefined>> {
    await this.reader.return();
    return { done: true, value: undefined };
  }

  private async read(): Promise<IteratorResult<readonly LoggedEvent[], undefined>> {
    const { past } = this;
    this.past = [];
    if (past.length > 0) return { done: false, value: past };
    const next = await this.reader.next();
    return next.done ? next : { done: false, value: next.value.map(readFrame) };
  }
}
