import { type Frame, isTerminal, isTerminalEvent, isUnavailableError, type Tail, type TaskNews } from '#lib/domain';
import { within } from '#lib/platform';
import type { LogOwner, LogPage, LogPages } from './log-pages.js';

/** Frames in order, without holes; the reader has then considered everything up to the last one's seq. */
export type Frames = readonly Frame[];

/** The newest frames are shared by all readers of a task up to this many characters; who is further behind reads the log. */
const MAX_RECENT = 262_144;
/** How long a reader waits before it asks a database again that does not answer: its client stays connected meanwhile. */
const RETRY_MS = 500;

/** A task as far as a gateway follows it: what is known of its log's end, and its newest frames. */
export class TaskFeed {
  /** Events up to here exist. */
  knownSeq: number;
  /** The seq of the terminal event, once it is known. */
  endSeq: number | undefined;
  /** When the bus last told of this task, by `performance.now()`. */
  heardAtMs = performance.now();
  /** Since when nobody reads. */
  emptySinceMs = performance.now();
  private readonly readers = new Set<FeedReader>();
  private recent: Frame[] = [];
  private recentSize = 0;
  private lastTaken: { readonly afterSeq: number; readonly frames: Frames } = { afterSeq: -1, frames: [] };
  /** False until the log was read to its end while the subscription was in force. */
  private isSynced = false;
  /** Since when the subscription is in force: a read that began earlier proves nothing. */
  private inForceAtMs = 0;
  /** The page behind the one last read, on its way while that one is being written. */
  private ahead:
    { readonly afterSeq: number; readonly startedAtMs: number; readonly page: Promise<LogPage> } | undefined;

  constructor(
    readonly owner: LogOwner,
    private readonly pages: LogPages,
    seen: { readonly lastSeq: number; readonly isEnded: boolean },
  ) {
    this.knownSeq = seen.lastSeq;
    if (seen.isEnded) this.endSeq = seen.lastSeq;
  }

  get isEmpty(): boolean {
    return this.readers.size === 0;
  }

  read(afterSeq: number): FeedReader {
    const reader = new FeedReader(this, afterSeq);
    this.readers.add(reader);
    return reader;
  }

  leave(reader: FeedReader): void {
    this.readers.delete(reader);
    if (this.isEmpty) this.emptySinceMs = performance.now();
  }

  /** From now on nothing is missed; before, something may have been. */
  subscribed(): void {
    this.inForceAtMs = performance.now();
    this.isSynced = false;
    this.wake();
  }

  /** The first event of a task that nobody can have added to yet, so that it need not be read. */
  begin(first: Frame): void {
    if (this.inForceAtMs === 0) return;
    this.isSynced = true;
    this.hear({ taskKey: this.owner.taskKey, fromSeq: first.seq, toSeq: first.seq, frames: [first] });
  }

  hear(news: TaskNews | { readonly live: Frame }): void {
    this.heardAtMs = performance.now();
    if ('live' in news) {
      for (const reader of this.readers) reader.show(news.live);
      return;
    }
    if (news.frames) this.add(news.frames);
    this.advance(news.toSeq);
  }

  /** What the log's end turned out to be. */
  learn({ lastSeq, state }: Pick<Tail, 'lastSeq' | 'state'>): void {
    if (isTerminal(state)) this.endSeq = lastSeq;
    if (lastSeq > this.knownSeq || this.endSeq !== undefined) this.advance(lastSeq);
  }

  /** Forgets the newest frames: whoever still wants them reads the log. */
  forget(): void {
    this.recent = [];
    this.recentSize = 0;
    this.lastTaken = { afterSeq: -1, frames: [] };
    this.ahead = undefined;
  }

  /** Everyone stops reading. */
  close(): void {
    for (const reader of this.readers) void reader.return();
  }

  /** The frames after `afterSeq` as far as they are at hand. */
  take(afterSeq: number): Frames | undefined {
    const first = this.recent[0]?.seq;
    if (first === undefined || afterSeq + 1 < first || afterSeq >= first + this.recent.length - 1) return undefined;
    const { lastTaken } = this;
    const last = this.recent.at(-1)!.seq;
    if (lastTaken.afterSeq === afterSeq && lastTaken.frames.at(-1)?.seq === last) return lastTaken.frames;
    const frames = this.recent.slice(afterSeq + 1 - first);
    this.lastTaken = { afterSeq, frames };
    return frames;
  }

  /** True when a reader there has to look into the log. */
  isBehind(afterSeq: number): boolean {
    return afterSeq < this.knownSeq || (!this.isSynced && this.endSeq === undefined);
  }

  /** Frames from the log after `afterSeq`; none when the log ends there. */
  async fetch(afterSeq: number): Promise<Frames> {
    const { inForceAtMs } = this;
    // A cursor past the end proves nothing about the end.
    const from = Math.min(afterSeq, this.knownSeq);
    const page = await this.readPage(from, from < this.knownSeq);
    const last = page.frames.at(-1);
    if (page.isLast && inForceAtMs === this.inForceAtMs) this.isSynced = true;
    if (last && isTerminalEvent(last.type)) this.endSeq = last.seq;
    if (last) this.advance(last.seq);
    if (last && !page.isLast) this.readAhead(last.seq);
    return from === afterSeq ? page.frames : page.frames.filter((frame) => frame.seq > afterSeq);
  }

  /** True when nothing can follow. */
  isOver(afterSeq: number): boolean {
    return this.endSeq !== undefined && afterSeq >= this.endSeq;
  }

  private async readPage(from: number, isMore: boolean): Promise<LogPage> {
    const { ahead } = this;
    const isAhead = ahead?.afterSeq === from && ahead.startedAtMs >= this.inForceAtMs;
    if (isAhead) this.ahead = undefined;
    const page = await (isAhead ? ahead.page : this.pages.read(this.owner, from, this.inForceAtMs));
    if (page.frames.length > 0 || !isMore) return page;
    // The read we joined may have begun before the event that is known by now.
    const again = await this.pages.read(this.owner, from, performance.now());
    if (again.frames.length === 0) throw new Error('The log lacks events it had.');
    return again;
  }

  private readAhead(afterSeq: number): void {
    const startedAtMs = performance.now();
    const page = this.pages.read(this.owner, afterSeq, this.inForceAtMs);
    // Who asks for the page is told.
    page.catch(() => undefined);
    this.ahead = { afterSeq, startedAtMs, page };
  }

  private add(frames: Frames): void {
    const last = this.recent.at(-1)?.seq;
    const fresh = last === undefined ? frames : frames.filter((frame) => frame.seq > last);
    const [first] = fresh;
    if (!first) return;
    if (last !== undefined && first.seq !== last + 1) this.forget();
    for (const frame of fresh) {
      this.recent.push(frame);
      this.recentSize += frame.text.length;
      if (isTerminalEvent(frame.type)) this.endSeq = frame.seq;
    }
    let dropped = 0;
    while (this.recentSize > MAX_RECENT) this.recentSize -= this.recent[dropped++]!.text.length;
    if (dropped > 0) this.recent.splice(0, dropped);
  }

  private advance(lastSeq: number): void {
    this.knownSeq = Math.max(this.knownSeq, lastSeq);
    this.wake();
  }

  private wake(): void {
    for (const reader of this.readers) reader.wake();
  }
}

/** One reader of a task. It keeps a cursor and nothing else: what it has not taken yet is shared, or in the log. */
export class FeedReader implements AsyncIterableIterator<Frames> {
  private isLeft = false;
  private live: Frame | undefined;
  private waiting: (() => void) | undefined;

  constructor(
    private readonly feed: TaskFeed,
    /** Everything up to here was considered. */
    private afterSeq: number,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Frames, undefined>> {
    for (;;) {
      const frames = this.feed.take(this.afterSeq) ?? (this.isBehind() ? await this.fetch() : []);
      if (this.isLeft) return { done: true, value: undefined };
      const last = frames.at(-1);
      if (last) {
        this.afterSeq = last.seq;
        return { done: false, value: frames };
      }
      if (this.feed.isOver(this.afterSeq)) return this.return();
      const { live } = this;
      this.live = undefined;
      if (live) return { done: false, value: [live] };
      if (!this.isBehind()) await this.woken();
    }
  }

  /** Resolves when the task is known to have more than its first event, but in no more than `ms`. */
  async company(ms: number): Promise<void> {
    const deadlineMs = performance.now() + ms;
    for (let leftMs = ms; leftMs > 0 && this.feed.knownSeq < 2 && !this.isLeft; leftMs = deadlineMs - performance.now())
      await within(this.woken(), leftMs);
  }

  /** Leaves; a `next()` that waits is over. */
  return(): Promise<IteratorResult<Frames, undefined>> {
    if (!this.isLeft) {
      this.isLeft = true;
      this.feed.leave(this);
      this.wake();
    }
    return Promise.resolve({ done: true, value: undefined });
  }

  /** A live-only frame: the newest is shown when nothing else is, older ones are dropped. */
  show(frame: Frame): void {
    this.live = frame;
    this.wake();
  }

  wake(): void {
    this.waiting?.();
    this.waiting = undefined;
  }

  private isBehind(): boolean {
    return this.feed.isBehind(this.afterSeq);
  }

  /** None, after a while, when the database does not answer. */
  private async fetch(): Promise<Frames> {
    try {
      return await this.feed.fetch(this.afterSeq);
    } catch (error) {
      if (!isUnavailableError(error)) throw error;
      if (!this.isLeft) await within(this.woken(), RETRY_MS);
      return [];
    }
  }

  private woken(): Promise<void> {
    return new Promise((resolve) => (this.waiting = resolve));
  }
}
