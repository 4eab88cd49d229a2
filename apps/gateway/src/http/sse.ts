import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '#lib/domain';
import type { Authenticator } from '../core/authenticator.js';
import type { Caller } from '../core/caller.js';
import type { Quotas, Slot } from '../core/quotas.js';
import { onOver } from './exchange.js';
import { findCaller } from './scopes.decorator.js';

/** How often a silent stream shows that it lives. */
export const KEEP_ALIVE_MS = 15_000;

/** How often the credentials of open streams are looked at: a revocation is felt within 5 s. */
const LOOK_MS = 4_000;

const KEEP_ALIVE = ': keep-alive\n\n';

/** Told to clients of streams that are ended by a shutdown: come back soon, to another process. */
const RETRY = 'retry: 1000\n\n';

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
};

const NOBODY: ReadonlySet<Caller> = new Set();

/** Frames ready to be written. `return()` must also settle a `next()` that is waiting. */
export type FrameSource = AsyncIterable<string | Uint8Array> & {
  /** What is still to be said when the stream is ended from here, before it has come to its own end. */
  farewell?(): string;
};

/** The open event streams of this process. */
export class EventStreams {
  private readonly open = new Set<EventStream>();
  private timers: readonly NodeJS.Timeout[] = [];
  private isClosing = false;

  constructor(
    private readonly logger: Pick<Logger, 'error'>,
    private readonly quotas?: Pick<Quotas, 'hold'>,
    private readonly authenticator?: Pick<Authenticator, 'lapsed'>,
  ) {}

  /** Streams that are open now. */
  get size(): number {
    return this.open.size;
  }

  /**
   * Serves one stream. A caller at its limit is refused before. `open` does what may still fail with a status; when it
   * resolves, headers go out and this resolves too: a silent stream keeps nothing of its request's way through the
   * framework. However the stream ends, also when the client left while it was being opened, `return()` of the source is
   * called once.
   */
  async serve(request: IncomingMessage, response: ServerResponse, open: () => Promise<FrameSource>): Promise<void> {
    const caller = findCaller(request);
    const stream = new EventStream(response, caller, caller && this.quotas?.hold('streams', caller));
    this.add(stream);
    if (this.isClosing) stream.end();
    let source: FrameSource;
    try {
      source = await open();
    } catch (error) {
      this.remove(stream);
      throw error;
    }
    const isWanted = request.method !== 'HEAD';
    // Express hangs the rest of its route on the request, which lives as long as the connection.
    (request as { next?: unknown }).next = undefined;
    void stream.run(source, isWanted).then(
      () => this.remove(stream),
      (error: unknown) => {
        this.remove(stream);
        this.logger.error('A stream was cut', { requestId: response.getHeader('x-request-id'), error });
      },
    );
  }

  /** Ends every stream with a `retry:`, and those still to come at once. */
  close(): void {
    this.isClosing = true;
    for (const stream of this.open) stream.end();
  }

  private add(stream: EventStream): void {
    this.open.add(stream);
    if (this.timers.length > 0) return;
    const keepAlive = (): void => {
      for (const each of this.open) each.keepAlive();
    };
    this.timers = [setInterval(keepAlive, KEEP_ALIVE_MS), setInterval(() => void this.endLapsed(), LOOK_MS)];
    for (const timer of this.timers) timer.unref();
  }

  /** Ends the streams of keys and tokens that are good no longer. While nobody can say, they stay open. */
  private async endLapsed(): Promise<void> {
    const callers = new Set([...this.open].map(({ caller }) => caller).filter((caller) => caller !== undefined));
    if (callers.size === 0 || !this.authenticator) return;
    const lapsed = await this.authenticator.lapsed([...callers]).catch(() => NOBODY);
    if (lapsed.size === 0) return;
    for (const stream of this.open) if (stream.caller && lapsed.has(stream.caller)) stream.end();
  }

  private remove(stream: EventStream): void {
    this.open.delete(stream);
    stream.slot?.release();
    if (this.open.size > 0) return;
    for (const timer of this.timers) clearInterval(timer);
    this.timers = [];
  }
}

class EventStream {
  private iterator: AsyncIterator<string | Uint8Array> | undefined;
  private isOver = false;
  private isEnding = false;
  private isGone = false;
  /** Headers that are still to go out by themselves. */
  private headers: NodeJS.Immediate | undefined;
  private wake: (() => void) | undefined;

  constructor(
    private readonly response: ServerResponse,
    /** Who opened it. */
    readonly caller: Caller | undefined,
    /** What it takes of its caller's limit. */
    readonly slot: Slot | undefined,
  ) {
    // Attached before anything is awaited: a client that is gone by then is never announced again.
    onOver(response, () => this.leave());
    response.on('drain', () => this.wake?.());
  }

  async run(source: FrameSource, isWanted: boolean): Promise<void> {
    const { response } = this;
    const farewell = (): string => source.farewell?.() ?? '';
    this.iterator = source[Symbol.asyncIterator]();
    if (this.isGone) return this.release();
    response.writeHead(200, HEADERS);
    // Headers go out at once, but with the first frame if that is there at once too.
    this.headers = setImmediate(() => response.flushHeaders());
    try {
      if (isWanted) await this.pump(this.iterator);
    } catch (error) {
      if (this.isOver) return;
      // A cut, not an end: the client must not take the stream for complete.
      response.destroy();
      throw error;
    } finally {
      this.sendHeaders();
      this.release();
      if (!this.isGone && !response.destroyed) response.end(this.isEnding ? farewell() + RETRY : undefined);
    }
  }

  keepAlive(): void {
    if (this.response.headersSent && !this.response.writableNeedDrain) this.response.write(KEEP_ALIVE);
  }

  end(): void {
    this.isEnding = true;
    this.stop();
  }

  private async pump(iterator: AsyncIterator<string | Uint8Array>): Promise<void> {
    while (!this.isOver) {
      const next = await iterator.next();
      this.sendHeaders();
      // What the source has given away is not in its farewell.
      if (next.done === true || this.isGone) return;
      if (!this.response.write(next.value)) await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }

  /** They go out with what is written next. */
  private sendHeaders(): void {
    clearImmediate(this.headers);
    this.headers = undefined;
  }

  private leave(): void {
    this.isGone = true;
    this.stop();
  }

  private stop(): void {
    this.isOver = true;
    this.wake?.();
    this.release();
  }

  private release(): void {
    const { iterator } = this;
    this.iterator = undefined;
    // A source that fails to close has nobody left to tell.
    iterator?.return?.().catch(() => undefined);
  }
}
