/**
 * The events of the protocol: for each type its detail level and the fields of its payload.
 * This table is the only source: payload types, admission of untrusted events and docs/events.md follow it.
 */

/** How much of a run is stored and sent, from least to most. */
export const DETAILS = ['status', 'full', 'verbose'] as const;
/** One level of detail; each shows all that the ones before it show. */
export type Detail = (typeof DETAILS)[number];

/** Kinds a payload field can have; a trailing `?` in the table marks a field that may be absent. */
export interface FieldTypes {
  string: string;
  integer: number;
  number: number;
  boolean: boolean;
  /** RFC 3339 in UTC with milliseconds. */
  timestamp: string;
  json: unknown;
  object: Readonly<Record<string, unknown>>;
  backend: { readonly runner: string; readonly version: string };
  error: ErrorBody;
  artifact: ArtifactBody;
  confirmations: readonly ConfirmationBody[];
  decisions: readonly Readonly<Record<string, unknown>>[];
  result: ResultBody;
  usage: UsageBody;
}

/** Why a task, a step or a tool call failed; `message` is shown to callers. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
}

/** A deliverable or an input, by reference. `size` in bytes, `sha256` in lower-case hex. */
export interface ArtifactBody {
  readonly artifact_id: string;
  readonly step_id?: string;
  readonly kind: 'produced' | 'input' | 'log' | 'offload';
  readonly name: string;
  readonly media_type: string;
  readonly size: number;
  readonly sha256: string;
  readonly origin?: string;
  /** Where it belongs among the files of its task, as its sender said: a name, never a path of ours. */
  readonly relative_path?: string;
}

/** Something a run waits for: a tool call to approve, a question, a client-side tool, an authorisation. */
export interface ConfirmationBody {
  readonly tool_call_id: string;
  readonly kind: 'tool_confirmation' | 'question' | 'client_tool' | 'authorization';
  readonly tool_name?: string;
  readonly arguments?: unknown;
  readonly prompt?: string;
  readonly digest: string;
  readonly expires_at: string;
}

/** What a task came to. `metadata.model` is `local` or the name of the model used. */
export interface ResultBody {
  readonly text: string;
  readonly data?: unknown;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Token counts of model calls. */
export interface UsageBody {
  readonly input_tokens: number;
  readonly output_tokens: number;
}

/** The kind of a payload field. */
export type FieldKind = keyof FieldTypes;
/** A kind, with `?` for a field that may be absent. */
export type FieldSpec = FieldKind | `${FieldKind}?`;
/** A row of the table: the least level that shows the event, and its fields. `live`: sent, never stored. */
export interface EventSpec {
  readonly detail: Detail | 'live';
  readonly fields: Readonly<Record<string, FieldSpec>>;
}

function define<const T extends Record<string, EventSpec>>(table: T): T {
  return table;
}

const TOOL = { tool_call_id: 'string', tool_name: 'string', step_id: 'string?' } as const;
const STEP = { step_id: 'string', step_name: 'string?', attempt: 'integer?' } as const;

/** The table. */
export const EVENTS = define({
  'task.created': {
    detail: 'status',
    fields: {
      agent_id: 'string',
      type: 'string?',
      session_id: 'string?',
      backend: 'backend',
      detail: 'string',
      priority: 'integer',
      deadline_at: 'timestamp',
      created_by: 'string',
      held_until: 'timestamp?',
    },
  },
  'task.started': { detail: 'status', fields: { run_no: 'integer', runtime_id: 'string' } },
  'task.waiting_for_input': {
    detail: 'status',
    fields: { wait_id: 'string', confirmations: 'confirmations', expires_at: 'timestamp' },
  },
  'task.resumed': {
    detail: 'status',
    fields: { wait_id: 'string', decided_by: 'string', decisions: 'decisions', answer_key: 'string?' },
  },
  'task.retrying': {
    detail: 'status',
    fields: { run_no: 'integer', runtime_id: 'string', reason: 'string', error: 'error?' },
  },
  'task.stalled': { detail: 'status', fields: { reason: 'string', waiting_on: 'string?' } },
  'task.recovered': { detail: 'status', fields: {} },
  'task.released': { detail: 'status', fields: {} },
  'task.cancel_requested': { detail: 'status', fields: { requested_by: 'string', reason: 'string?' } },
  'task.cancelled': { detail: 'status', fields: { forced: 'boolean', reason: 'string?' } },
  'task.succeeded': { detail: 'status', fields: { result: 'result', usage: 'usage?' } },
  'task.failed': {
    detail: 'status',
    fields: { error: 'error', phase: 'string?', remote_reference: 'string?', usage: 'usage?' },
  },

  'step.started': { detail: 'status', fields: { ...STEP, step_name: 'string' } },
  'step.completed': { detail: 'status', fields: STEP },
  'step.failed': { detail: 'status', fields: { ...STEP, error: 'error' } },
  'step.retrying': { detail: 'status', fields: { ...STEP, attempt: 'integer', error: 'error?' } },
  'step.cancelled': { detail: 'status', fields: { ...STEP, reason: 'string?' } },

  'tool.invoked': {
    detail: 'status',
    fields: {
      ...TOOL,
      arguments: 'json?',
      digest: 'string?',
      repeats: 'string?',
      policy_version: 'string?',
      approval: 'string?',
      approved_by: 'string?',
    },
  },
  'tool.completed': {
    detail: 'status',
    fields: { ...TOOL, output: 'json?', artifact: 'artifact?', duration_ms: 'integer?', waiting_on: 'string?' },
  },
  'tool.failed': {
    detail: 'status',
    fields: { ...TOOL, error: 'error', duration_ms: 'integer?', waiting_on: 'string?' },
  },
  'tool.denied': {
    detail: 'status',
    fields: {
      ...TOOL,
      reason: 'string',
      code: 'string?',
      digest: 'string?',
      policy_version: 'string?',
      denied_by: 'string?',
      waiting_on: 'string?',
    },
  },

  'agent.request_confirmation': { detail: 'status', fields: { wait_id: 'string', confirmations: 'confirmations' } },
  'artifact.created': { detail: 'status', fields: { artifact: 'artifact' } },
  heartbeat: { detail: 'live', fields: { run_no: 'integer', waiting_on: 'string?' } },

  'message.started': { detail: 'full', fields: { message_id: 'string', role: 'string' } },
  'message.delta': { detail: 'full', fields: { message_id: 'string', text: 'string' } },
  'message.completed': {
    detail: 'full',
    fields: { message_id: 'string', role: 'string', text: 'string', final: 'boolean?' },
  },
  'thinking.started': { detail: 'full', fields: { message_id: 'string' } },
  'thinking.delta': { detail: 'full', fields: { message_id: 'string', text: 'string' } },
  'thinking.completed': { detail: 'full', fields: { message_id: 'string', text: 'string?' } },

  'model.usage': { detail: 'verbose', fields: { model: 'string', usage: 'usage' } },
  'tool.arguments.delta': { detail: 'verbose', fields: { tool_call_id: 'string', text: 'string' } },
  'tool.output.delta': { detail: 'verbose', fields: { tool_call_id: 'string', text: 'string' } },
  'agent.event': { detail: 'verbose', fields: { framework: 'string', event: 'json' } },
});

/** The name of an event. */
export type EventType = keyof typeof EVENTS;

type Base<S> = S extends `${infer K}?` ? K : S;
type Kind<S> = Base<S> extends FieldKind ? FieldTypes[Base<S>] : never;
type OptionalKeys<F> = { [K in keyof F]: F[K] extends `${string}?` ? K : never }[keyof F];
type FieldsOf<F> = { readonly [K in Exclude<keyof F, OptionalKeys<F>>]: Kind<F[K]> } & {
  readonly [K in OptionalKeys<F>]?: Kind<F[K]>;
};
/** The payload of each event type, derived from the table. */
export type Payload<T extends EventType> = FieldsOf<(typeof EVENTS)[T]['fields']>;

/** An event before it has a place in a log, discriminated by `type`. */
export type EventBody = { [T in EventType]: { readonly type: T; readonly payload: Payload<T> } }[EventType];

/** True when `value` names an event of the protocol. */
export function isEventType(value: string): value is EventType {
  return Object.hasOwn(EVENTS, value);
}

/** Fields of tool events that only the platform writes, whoever emits the event. */
export const PLATFORM_FIELDS: ReadonlySet<string> = new Set([
  'policy_version',
  'approval',
  'approved_by',
  'duration_ms',
  'waiting_on',
]);

/** The events that end a task; the first of them wins. */
export const TERMINAL_EVENTS = [
  'task.succeeded',
  'task.failed',
  'task.cancelled',
] as const satisfies readonly EventType[];

/** True when the event ends its task. */
export function isTerminalEvent(type: string): boolean {
  return (TERMINAL_EVENTS as readonly string[]).includes(type);
}
