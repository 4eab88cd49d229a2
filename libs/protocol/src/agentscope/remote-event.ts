import type { ConfirmationBody, Detail } from '#lib/domain';
import { argumentsOf, toolNameOf } from './agent-event.js';

/** AgentScope's `RemoteEventType`, each with the least detail that shows it. */
export const REMOTE_EVENTS = {
  RUN_STARTED: 'status',
  RUN_FINISHED: 'status',
  RUN_ERROR: 'status',
  STATUS: 'status',
  TOOL_CALL_START: 'status',
  TOOL_CALL_END: 'status',
  TOOL_RESULT: 'status',
  REQUIRE_CONFIRM: 'status',
  TEXT_DELTA: 'full',
  THINKING_DELTA: 'full',
  AGENT_EVENT: 'verbose',
} as const satisfies Readonly<Record<string, Detail>>;

/** One of them. */
export type RemoteEventType = keyof typeof REMOTE_EVENTS;

/** AgentScope's `RemotePendingConfirm`. */
export interface PendingConfirm {
  readonly toolCallId: string;
  readonly toolName: string;
  /** JSON text. */
  readonly toolInputJson: string;
}

/** What some events say beside what all of them do. */
export interface RemoteFields {
  readonly text?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly pendingConfirms?: readonly PendingConfirm[];
  readonly status?: string;
  readonly error?: string;
}

/** AgentScope's `RemoteAgentEvent`. */
export interface RemoteEvent extends RemoteFields {
  readonly seq: number;
  readonly type: RemoteEventType;
  readonly taskId: string;
  readonly agentId?: string;
  /** With `eventType` and `payload`: on events that come from the agent. */
  readonly timestamp?: string;
  readonly eventType?: string;
  /** JSON text of the agent's event. */
  readonly payload?: string;
}

/** One event as its server writes it: no space behind the colons. */
export function encodeRemoteFrame(event: RemoteEvent): string {
  return `id:${event.seq}\nevent:${event.type}\ndata:${JSON.stringify(event)}\n\n`;
}

/** An item of `pending_confirms` and `pendingConfirms`: `toolInputJson` is a string that holds JSON. */
export function pendingConfirmOf(item: ConfirmationBody): PendingConfirm {
  return {
    toolCallId: item.tool_call_id,
    toolName: toolNameOf(item),
    toolInputJson: JSON.stringify(argumentsOf(item)),
  };
}
