import {
  encodeFrames,
  type EventBus,
  type EventLog,
  isTerminalEvent,
  type Logger,
  type Metrics,
  NO_METRICS,
  type TaskKey,
  type TaskNews,
} from '#lib/domain';
import { BatchPace } from '#lib/platform';
import { countBatch } from './append.counts.js';
import { commitBatch, type CommitOptions, type Outcomes } from './batch-commit.js';
import { withLeftWorkspaces } from './left-workspace.js';
import { RunCursor, type Work, type Write, type WriteOutcome, WriteQueue } from './write-queue.js';

/** Events per statement: more makes the statement longer for those who wait without making it cheaper per event. */
const MAX_ROWS = 500;
const DEFAULTS: CommitOptions = { retryForMs: 60_000, firstDelayMs: 50, maxDelayMs: 2_000 };

export interface WriterPorts {
  readonly log: EventLog;
  readonly bus: EventBus;
  readonly logger: Logger;
  readonly metrics?: Metrics;
}

/**
 * The group-commit writer: one statement in flight, what arrives meanwhile is the next one. Two in flight would let a
 * small batch with a terminal event overtake a large one. News is published after the commit, in commit order.
 */
export class EventWriter {
  private readonly queue = new WriteQueue();
  private readonly pace = new BatchPace();
  private readonly options: CommitOptions;
  private readonly metrics: Metrics;
  private draining: Promise<void> | undefined;
  private published: Promise<void> = Promise.resolve();
  private isClosed = false;
  private sessionEnded: (taskKeys: readonly TaskKey[]) => void = () => undefined;

  constructor(
    private readonly ports: WriterPorts,
    options: Partial<CommitOptions> = {},
  ) {
    this.options = { ...DEFAULTS, ...options };
    this.metrics = ports.metrics ?? NO_METRICS;
  }

  /** Tells `listener` of tasks that have ended here and may have left a note for their session. */
  onSessionEnd(listener: (taskKeys: readonly TaskKey[]) => void): void {
    this.sessionEnded = listener;
  }

  /** Queues a write; `settle` is told what became of it. */
  write(write: Write): void {
    if (this.isClosed) {
      write.settle?.({ kind: 'unavailable', cause: new Error('the writer is closed') });
      return;
    }
    this.queue.push(write);
    this.draining ??= this.drain();
  }

  /** Queues a write and resolves with what became of it. */
  append(write: Omit<Write, 'settle'>): Promise<WriteOutcome> {
    return new Promise((settle) => this.write({ ...write, settle }));
  }

  /** Takes no more; resolves when everything that waited is settled and published. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.draining;
    await this.published;
  }

  private async drain(): Promise<void> {
    // Whatever is emitted in this turn of the event loop belongs to the first batch.
    await new Promise(setImmediate);
    while (!this.queue.isEmpty) {
      await this.pace.turn();
      const works = await this.withFiles(this.queue.take(MAX_ROWS));
      this.pace.begin(works.length);
      const startedMs = performance.now();
      const outcomes = await commitBatch(this.ports.log, works, this.options);
      countBatch(this.metrics, outcomes, (performance.now() - startedMs) / 1_000);
      for (const [work, outcome] of outcomes) this.settle(work, outcome);
      this.tellSessions(outcomes);
      // At most one publication behind: a slow bus slows the writer rather than filling memory.
      await this.published;
      this.published = this.publish(outcomes);
    }
    this.draining = undefined;
  }

  /** The end of a task does not depend on its files: when they cannot be asked for, it goes without. */
  private async withFiles(works: readonly Work[]): Promise<readonly Work[]> {
    try {
      return await withLeftWorkspaces(this.ports.log, works);
    } catch (error) {
      this.ports.logger.warn('the files of tasks that end were not kept', { error });
      return works;
    }
  }

  private settle(work: Work, outcome: WriteOutcome): void {
    const { guard } = work.writes[0]!;
    if (guard instanceof RunCursor) {
      if (outcome.kind === 'stored') guard.runPos += work.append.events.length;
      // What follows a hole must not be stored.
      else for (const write of this.queue.drop(work.append.taskKey, guard)) write.settle?.(outcome);
    }
    for (const write of work.writes) write.settle?.(outcome);
  }

  private tellSessions(outcomes: Outcomes): void {
    const ended = [...outcomes].filter(([work, outcome]) => outcome.kind === 'stored' && mayEndTurn(work));
    if (ended.length > 0) this.sessionEnded(ended.map(([{ append }]) => append.taskKey));
  }

  private async publish(outcomes: Outcomes): Promise<void> {
    const news: TaskNews[] = [];
    for (const [work, outcome] of outcomes) {
      if (outcome.kind === 'stored' && work.append.events.length > 0) news.push(newsOf(work, outcome.appended));
    }
    if (news.length === 0) return;
    try {
      await this.ports.bus.publish(news);
    } catch (error) {
      this.ports.logger.warn('news was not published', { error });
    }
  }
}

/** A run knows whether its task has a session; who ends one from outside does not. */
function mayEndTurn({ append: { events, guard, session } }: Work): boolean {
  const last = events.at(-1);
  return last !== undefined && isTerminalEvent(last.body.type) && (session !== undefined || guard.kind === 'control');
}

function newsOf({ taskId, append }: Work, { baseSeq, atMs }: { baseSeq: number; atMs: number }): TaskNews {
  const events = append.events.map(({ eventId, body, json }, index) => {
    return { seq: baseSeq + 1 + index, eventId, type: body.type, atMs, payload: json };
  });
  const frames = encodeFrames(taskId, events);
  return { taskKey: append.taskKey, fromSeq: baseSeq + 1, toSeq: baseSeq + frames.length, frames };
}
