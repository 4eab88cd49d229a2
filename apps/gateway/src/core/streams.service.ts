import type { TaskState } from '#lib/domain';
import type { Caller } from './caller.js';
import type { Submitted } from './submissions.service.js';

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

/**
 * Ready text of server-sent events, whole frames, some of them joined. Ends right after the terminal event.
 * `return()` settles a `next()` that waits.
 */
export type FrameTexts = AsyncIterableIterator<string>;

/** The event logs of tasks, as pages and as live streams. */
export abstract class StreamsService {
  /** Resolves when the stream is in force; what may fail with a status has been done. */
  abstract open(caller: Caller, taskId: string, view: EventView): Promise<FrameTexts>;
  /** The stream of a task this caller has just submitted, from its first event; asks nobody again whose it is. */
  abstract openSubmitted(submitted: Submitted, view: Omit<EventView, 'cursor'>): Promise<FrameTexts>;
  abstract page(caller: Caller, taskId: string, view: PageView): Promise<EventPage>;
}
