import { type Detail, DETAILS, type EventBody, EVENTS, type EventType } from './event-table.js';
import type { EventId, TaskId } from './ids.js';

/** Version of the event envelope. */
export const ENVELOPE_VERSION = '1.0';
/** Upper bound of one serialised envelope, in bytes of UTF-8. */
export const ENVELOPE_MAX_BYTES = 16_384;
/** Upper bound of a payload, so that its envelope fits whatever `seq` and the task id turn out to be. */
export const PAYLOAD_MAX_BYTES = 15_872;

const DATA = '\ndata: ';
const OPENING = `${DATA}{"version":"${ENVELOPE_VERSION}","event_id":"`;

/** An event as the log holds it; `payload` is the JSON text written at admission and never parsed on the way out. */
export interface StoredEvent {
  readonly seq: number;
  readonly eventId: EventId;
  readonly type: EventType;
  /** Milliseconds since the epoch, given by the database, never decreasing within a task. */
  readonly atMs: number;
  readonly payload: string;
}

/** An event as the log has it, read. `seq` is 0 for a heartbeat, which is live only and has no id. */
export type LoggedEvent = EventBody & {
  readonly seq: number;
  readonly eventId?: EventId;
  /** RFC 3339 in UTC with milliseconds. */
  readonly timestamp: string;
};

/** One of a type. */
export type LoggedEventOf<T extends EventType> = Extract<LoggedEvent, { readonly type: T }>;

/** The envelope of an event, in the bytes its frame has. */
export function encodeEnvelope(taskId: TaskId, event: StoredEvent): string {
  return envelopeOf(encodeFrame(taskId, event));
}

/** One event as a server-sent event of the native surface: `id` is `seq`, `event` the type (HTML, section 9.2.6). */
export function encodeFrame(taskId: TaskId, event: StoredEvent): Frame {
  return frameAt(taskId, event, new Date(event.atMs).toISOString());
}

/** Each event as `encodeFrame` gives it. Events that were stored together share their time, which is spelt once. */
export function encodeFrames(taskId: TaskId, events: readonly StoredEvent[]): Frame[] {
  let [atMs, at] = [NaN, ''];
  return events.map((event) => {
    if (event.atMs !== atMs) [atMs, at] = [event.atMs, new Date(event.atMs).toISOString()];
    return frameAt(taskId, event, at);
  });
}

/**
 * The one encoder of events, for live and replay alike, so that both give the same bytes. Joined into one flat string: what
 * a template gives is a tree of its pieces, and pages of those cost a replay half its time in garbage collection.
 */
function frameAt(taskId: TaskId, { seq, type, eventId, payload }: StoredEvent, at: string): Frame {
  // prettier-ignore
  const pieces = [
    'id: ', seq, '\nevent: ', type, OPENING, eventId, '","task_id":"', taskId, '","seq":', seq,
    ',"event_type":"', type, '","timestamp":"', at, '","payload":', payload, '}\n\n',
  ];
  return { seq, type, text: pieces.join('') };
}

/** The envelope inside a frame. */
export function envelopeOf({ text }: Frame): string {
  return text.slice(text.indexOf(DATA) + DATA.length, -2);
}

/** A frame ready for the socket. `seq` is 0 for a live-only event (heartbeat), which has no id and no replay. */
export interface Frame {
  readonly seq: number;
  readonly type: EventType;
  readonly text: string;
}

/** A heartbeat: live only, so it carries neither id nor seq. */
export function encodeHeartbeat(taskId: TaskId, atMs: number, payload: string): Frame {
  const at = new Date(atMs).toISOString();
  const data = `{"version":"${ENVELOPE_VERSION}","task_id":"${taskId}","event_type":"heartbeat","timestamp":"${at}","payload":${payload}}`;
  return { seq: 0, type: 'heartbeat', text: `event: heartbeat\ndata: ${data}\n\n` };
}

const FINAL_MESSAGE = /"final":true\}+\n*$/;

/**
 * True when an event is shown at this level of detail. `text` is its payload, envelope or frame:
 * the final answer's `message.completed` ends in `"final":true` and is shown at every level.
 */
export function isShownAt(detail: Detail, type: EventType, text: string): boolean {
  const level = EVENTS[type].detail;
  if (level === 'live' || DETAILS.indexOf(level) <= DETAILS.indexOf(detail)) return true;
  return type === 'message.completed' && FINAL_MESSAGE.test(text.slice(-24));
}

/** The level a caller named; an unknown one means `status`. */
export function parseDetail(value: unknown): Detail {
  return DETAILS.find((detail) => detail === value) ?? 'status';
}
