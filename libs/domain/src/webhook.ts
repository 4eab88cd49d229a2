import type { EventType } from './event-table.js';
import type { EventId, TaskId } from './ids.js';
import { statusOf, type TaskState } from './state.js';

/** The events that webhooks and callbacks tell. What makes deliveries (migration 0029) has the same list. */
export const WEBHOOK_EVENTS = [
  'task.succeeded',
  'task.failed',
  'task.cancelled',
  'task.waiting_for_input',
  'task.stalled',
  'task.recovered',
] as const satisfies readonly EventType[];
/** One of them. */
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** The events that those are told who follow one task. What makes deliveries (migration 0029) has the same list. */
export const PUSH_EVENTS = [
  'task.started',
  'task.waiting_for_input',
  'task.resumed',
  'task.succeeded',
  'task.failed',
  'task.cancelled',
  'message.completed',
  'artifact.created',
] as const satisfies readonly EventType[];

const WEBHOOK_ID = /^wh_[0-9a-f]{32}$/;

/** True when `value` has the form of a webhook's id. */
export function isWebhookId(value: string): boolean {
  return WEBHOOK_ID.test(value);
}

/** What of an event and its task a message tells: all of it as it was when the event was stored, so that it never changes. */
export interface NoticeFacts {
  readonly eventId: EventId;
  readonly type: EventType;
  readonly seq: number;
  readonly atMs: number;
  /** JSON text of the event's payload. */
  readonly payload: string;
  readonly taskId: TaskId;
  readonly agentId: string;
  readonly taskType: string | null;
  readonly sessionId: string | null;
  readonly state: TaskState;
  readonly runNo: number;
  readonly createdBy: string;
  readonly createdAtMs: number;
}

/**
 * The body of a message (Standard Webhooks, "Payload structure"): `data` has the form of the task's snapshot, as of the
 * event. The same bytes at every attempt. At most 4 KiB longer than the payload, which is at most 15.5 KiB.
 */
export function encodeNotice(facts: NoticeFacts): string {
  const payload = JSON.parse(facts.payload) as Readonly<Record<string, unknown>>;
  const { wait_id = null, confirmations = [], expires_at, ...others } = payload;
  const isWaiting = facts.type === 'task.waiting_for_input';
  const data = {
    event_id: facts.eventId,
    task_id: facts.taskId,
    agent_id: facts.agentId,
    type: facts.taskType,
    session_id: facts.sessionId,
    state: facts.state,
    status: statusOf(facts.state),
    run_no: facts.runNo,
    last_seq: facts.seq,
    result: null,
    error: null,
    usage: null,
    pending_confirms: confirmations,
    wait_id,
    ...(isWaiting ? { expires_at } : {}),
    waiting_on: null,
    stalled: facts.type === 'task.stalled',
    ...others,
    created_by: facts.createdBy,
    created_at: new Date(facts.createdAtMs).toISOString(),
  };
  return JSON.stringify({ type: facts.type, timestamp: new Date(facts.atMs).toISOString(), data });
}

/** The body of a message that only shows that messages arrive. */
export function encodeTestNotice(webhookId: string, atMs: number): string {
  return JSON.stringify({
    type: 'webhook.test',
    timestamp: new Date(atMs).toISOString(),
    data: { webhook_id: webhookId },
  });
}
