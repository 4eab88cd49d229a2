import { encodeFrames, type EventLog, type Frame, type TaskId, type StoredEvent, type TaskKey } from '#lib/domain';

/** Whose log is read; frames show the caller's id. */
export interface LogOwner {
  readonly taskKey: TaskKey;
  readonly taskId: TaskId;
}

/** A stretch of a log, in order and without holes. */
export interface LogPage {
  readonly frames: readonly Frame[];
  /** True when nothing followed at the time of reading. */
  readonly isLast: boolean;
}

const LIMITS = { maxEvents: 500, maxBytes: 262_144 };
/** Reads at once: they have a small pool of connections of their own. */
const MAX_READS = 4;
/** Full pages kept for readers that come after; a page is bounded in bytes, so this is some megabytes. */
const MAX_PAGES = 16;
/** More than any store counts for an event besides its payload: a page under its bounds by this measure was not cut. */
const EVENT_OVERHEAD = 512;

interface Flight {
  readonly startedAtMs: number;
  readonly page: Promise<LogPage>;
}

/** Pages of logs, read once for all who want the same one. */
export class LogPages {
  private readonly flights = new Map<string, Flight>();
  /** Full pages only: they never change. The least recently used comes first. */
  private readonly kept = new Map<string, LogPage>();
  private reading = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly log: EventLog) {}

  /**
   * What follows `afterSeq`, up to 500 events and 256 KiB.
   * @param sinceMs by `performance.now()`: the read begins no earlier, so that what was stored before is seen.
   */
  read(owner: LogOwner, afterSeq: number, sinceMs = 0): Promise<LogPage> {
    const name = `${owner.taskKey} ${afterSeq}`;
    const kept = this.kept.get(name);
    if (kept) {
      this.keep(name, kept);
      return Promise.resolve(kept);
    }
    const joined = this.flights.get(name);
    if (joined && joined.startedAtMs >= sinceMs) return joined.page;
    const flight = { startedAtMs: performance.now(), page: this.query(owner, afterSeq) };
    this.flights.set(name, flight);
    return this.land(name, flight);
  }

  private async land(name: string, flight: Flight): Promise<LogPage> {
    try {
      const page = await flight.page;
      if (!page.isLast) this.keep(name, page);
      return page;
    } finally {
      if (this.flights.get(name) === flight) this.flights.delete(name);
    }
  }

  private async query({ taskKey, taskId }: LogOwner, afterSeq: number): Promise<LogPage> {
    if (this.reading >= MAX_READS) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.reading += 1;
    try {
      const events = await this.log.page(taskKey, afterSeq, LIMITS);
      return { frames: encodeFrames(taskId, events), isLast: !isCut(events) };
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.reading -= 1;
    }
  }

  private keep(name: string, page: LogPage): void {
    this.kept.delete(name);
    this.kept.set(name, page);
    const [oldest] = this.kept.keys();
    if (this.kept.size > MAX_PAGES && oldest !== undefined) this.kept.delete(oldest);
  }
}

/** True when a bound may have ended the page. */
function isCut(events: readonly StoredEvent[]): boolean {
  if (events.length >= LIMITS.maxEvents) return true;
  const bytes = events.reduce((sum, { payload }) => sum + Buffer.byteLength(payload) + EVENT_OVERHEAD, 0);
  return bytes >= LIMITS.maxBytes;
}
