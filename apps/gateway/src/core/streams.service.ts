import {
  DETAILS,
  DomainError,
  encodeFrames,
  envelopeOf,
  type EventLog,
  type EventType,
  isEventId,
  isTerminal,
  isTerminalEvent,
  type LoggedEvent,
  type LoggedEventOf,
  parseDetail,
  type SeenState,
  type TaskKey,
  type TaskState,
} from '#lib/domain';
import { within } from '#lib/platform';
import type { Caller } from './caller.js';
import { type FrameFilter, FrameTextStream, isShown } from './frame-texts.js';
import { LoggedEventStream, readFrame } from './logged-events.js';
import type { Quotas } from './quotas.js';
import type { SeenTask, StreamHub } from './stream-hub.js';
import type { Submitted } from './submissions.service.js';
import type { FeedReader, Frames } from './task-feed.js';
import type { Patience, TasksService } from './tasks.service.js';

/** Where a reader stands, as it said it: a seq or the id of an event of the task, exclusive. */
export interface CursorText {
  readonly text: string;
  /** For the path of the fault when it is malformed. */
  readonly source: 'query.from_seq' | 'header.last-event-id';
}

/** What part of a log a reader wants. */
export interface EventView {
  /** Absent: from the first event. */
  readonly cursor?: CursorText;
  /** Narrows what the task stores; an unknown level means `status`. Absent: everything stored. */
  readonly detail?: string;
  /** Only these types; a name that is no event type matches nothing. */
  readonly types?: readonly string[];
}

export interface PageView extends EventView {
  /** 1 to 500. */
  readonly limit: number;
  /** How long to wait while there is nothing to show, in ms; 0 to 60,000. */
  readonly waitMs: number;
  readonly signal?: AbortSignal;
}

/** A page of events; each is the JSON text of its envelope. `nextSeq` is the last seq considered. */
export interface EventPage {
  readonly events: readonly string[];
  readonly nextSeq: number;
  readonly hasMore: boolean;
  readonly state: TaskState;
}

/** How long somebody follows a task, and by which of the events before. */
export interface Following extends Pick<Patience, 'timeoutMs' | 'signal'> {
  readonly types: readonly EventType[];
}

/** A task, and where in its log a reader stands. */
interface Place {
  readonly task: SeenTask;
  readonly afterSeq: number;
}

/**
 * Ready text of server-sent events, whole frames, some of them joined. Ends right after the terminal event.
 * `return()` settles a `next()` that waits.
 */
export type FrameTexts = AsyncIterableIterator<string>;

/** How long the first event of a task waits for the second: the start, where a runtime is free. */
const COMPANY_MS = 25;

const SEQ = /^\d{1,15}$/;
/** Largest seq the log can hold; a cursor beyond it means the same. */
const MAX_SEQ = 2_147_483_647;

/** The event logs of tasks, as pages and as live streams. */
export class StreamsService {
  constructor(
    private readonly tasks: Pick<TasksService, 'snapshot' | 'assertStill'>,
    private readonly hub: StreamHub,
    private readonly log: EventLog,
    private readonly quotas: Pick<Quotas, 'hold'>,
  ) {}

  /** Resolves when the stream is in force; what may fail with a status has been done. */
  async open(caller: Caller, taskId: string, view: EventView): Promise<FrameTexts> {
    const { task, afterSeq } = await this.find(caller, taskId, view.cursor);
    return new FrameTextStream(await this.hub.open(task, afterSeq), filterOf(view));
  }

  /**
   * The stream of a task this caller has just submitted, from its first event; asks nobody again whose it is. What comes
   * right after that one goes out with it, in one write.
   */
  async openSubmitted(submitted: Submitted, view: Omit<EventView, 'cursor'>): Promise<FrameTexts> {
    const reader = await this.hub.open({ ...submitted, isEnded: isTerminal(submitted.state) }, 0);
    await reader.company(COMPANY_MS);
    return new FrameTextStream(reader, filterOf(view));
  }

  /** What comes after `afterSeq`, for wires that spell events in words of their own. */
  async openEvents(caller: Caller, taskId: string, afterSeq = 0): Promise<LoggedEventStream> {
    const { task } = await this.find(caller, taskId, undefined);
    return new LoggedEventStream(await this.hub.open(task, afterSeq));
  }

  /** The same for a task this caller has just submitted or seen; asks nobody again whose it is. */
  async openSeenEvents(seen: SeenState, afterSeq = 0): Promise<LoggedEventStream> {
    return new LoggedEventStream(await this.hub.open({ ...seen, isEnded: isTerminal(seen.state) }, afterSeq));
  }

  /** The events of these types that a task has so far, which this caller has seen. */
  async select<T extends EventType>(
    seen: Pick<SeenState, 'taskKey' | 'taskId'>,
    types: readonly T[],
  ): Promise<readonly LoggedEventOf<T>[]> {
    const events = await this.log.select(seen.taskKey, types);
    return encodeFrames(seen.taskId, events).map(readFrame) as unknown as readonly LoggedEventOf<T>[];
  }

  /** Those events at once, and then all that come: for wires that are made of few of them. */
  async openSelectedEvents(seen: SeenState, types: readonly EventType[]): Promise<LoggedEventStream> {
    const past: readonly LoggedEvent[] = await this.select(seen, types);
    const last = past.at(-1);
    const lastSeq = Math.max(seen.lastSeq, last?.seq ?? 0);
    const isEnded = isTerminal(seen.state) || (last !== undefined && isTerminalEvent(last.type));
    return new LoggedEventStream(await this.hub.open({ ...seen, lastSeq, isEnded }, lastSeq), past);
  }

  /**
   * Reads what `openSelectedEvents` gives, until `visit` has an answer; undefined when the time is over, or the task. Rejects
   * with the reason of `signal`, or `rate_limited` where too many wait, or RefusedCredential: `visit` sees nothing that came
   * after the caller's credential was seen to have lapsed.
   */
  async follow<T>(
    caller: Caller,
    seen: SeenState,
    { timeoutMs, signal, types }: Following,
    visit: (events: readonly LoggedEvent[]) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const sinceMs = performance.now();
    const slot = this.quotas.hold('waits', caller);
    try {
      const events = await this.openSelectedEvents(seen, types);
      try {
        for (;;) {
          const next = await within(events.next(), sinceMs + timeoutMs - performance.now(), signal);
          await this.tasks.assertStill(caller, sinceMs);
          if (!next || next.done) return undefined;
          const answer = await visit(next.value);
          if (answer !== undefined) return answer;
        }
      } finally {
        await events.return();
      }
    } finally {
      slot.release();
    }
  }

  async page(caller: Caller, taskId: string, view: PageView): Promise<EventPage> {
    const { task, afterSeq } = await this.find(caller, taskId, view.cursor);
    const found = await this.collect(caller, { task, afterSeq }, view);
    const tail = (await this.log.tails([task.taskKey])).get(task.taskKey);
    if (!tail) throw new DomainError('not_found', 'There is no such task.');
    return { ...found, hasMore: found.nextSeq < tail.lastSeq, state: tail.state };
  }

  private async find(caller: Caller, taskId: string, cursor: CursorText | undefined): Promise<Place> {
    const { taskKey, taskId: id, lastSeq, state } = await this.tasks.snapshot(caller, taskId);
    const afterSeq = cursor === undefined ? 0 : await this.seqOf(taskKey, cursor);
    return { task: { taskKey, taskId: id, lastSeq, isEnded: isTerminal(state) }, afterSeq };
  }

  private async seqOf(taskKey: TaskKey, cursor: CursorText): Promise<number> {
    const { text } = cursor;
    if (SEQ.test(text)) return Math.min(Number(text), MAX_SEQ);
    const seq = isEventId(text) ? await this.log.seqOf(taskKey, text) : undefined;
    if (seq !== undefined) return seq;
    const message = 'must be the seq or the id of an event of this task';
    const faults = [{ path: cursor.source, code: 'invalid_cursor', message }];
    throw new DomainError('invalid_request', `${cursor.source}: ${message}.`, { faults });
  }

  /** Reads on until there is something to show, the log ends, or the time is over. */
  private async collect(
    caller: Caller,
    { task, afterSeq }: Place,
    view: PageView,
  ): Promise<Pick<EventPage, 'events' | 'nextSeq'>> {
    if (view.waitMs === 0 || task.isEnded) return this.collectStored(task, afterSeq, view);
    const sinceMs = performance.now();
    const slot = this.quotas.hold('waits', caller);
    try {
      const reader = await this.hub.open(task, afterSeq);
      const page = await this.collectLive(reader, afterSeq, view).finally(() => reader.return());
      await this.tasks.assertStill(caller, sinceMs);
      return page;
    } finally {
      slot.release();
    }
  }

  private async collectStored(
    task: SeenTask,
    afterSeq: number,
    view: PageView,
  ): Promise<Pick<EventPage, 'events' | 'nextSeq'>> {
    let page = cut([], afterSeq, view);
    while (page.events.length === 0 && page.nextSeq < task.lastSeq) {
      const { frames } = await this.hub.pages.read(task, page.nextSeq, performance.now());
      if (frames.length === 0) break;
      page = cut(frames, page.nextSeq, view);
    }
    return page;
  }

  private async collectLive(
    reader: FeedReader,
    afterSeq: number,
    view: PageView,
  ): Promise<Pick<EventPage, 'events' | 'nextSeq'>> {
    const deadlineMs = performance.now() + view.waitMs;
    let page = cut([], afterSeq, view);
    while (page.events.length === 0) {
      const next = await within(reader.next(), deadlineMs - performance.now(), view.signal);
      if (!next || next.done) break;
      page = cut(next.value, page.nextSeq, view);
    }
    return page;
  }
}

function filterOf({ detail, types }: EventView): FrameFilter {
  const level = detail === undefined ? undefined : parseDetail(detail);
  return {
    // The fullest level hides nothing.
    ...(level === undefined || level === DETAILS.at(-1) ? {} : { detail: level }),
    ...(types ? { types: new Set(types) } : {}),
  };
}

/** What is shown of the frames, at most `limit`; the cursor stops where the limit did. Live-only frames have no place here. */
function cut(frames: Frames, afterSeq: number, view: PageView): Pick<EventPage, 'events' | 'nextSeq'> {
  const filter = filterOf(view);
  const shown = frames.filter((frame) => frame.seq > 0 && isShown(frame, filter));
  const last = shown.length > view.limit ? shown[view.limit - 1] : frames.at(-1);
  return { events: shown.slice(0, view.limit).map(envelopeOf), nextSeq: Math.max(afterSeq, last?.seq ?? 0) };
}
