import type { ConfirmationBody, ErrorBody, UsageBody } from '#lib/domain';

/** An event of AgentScope's own, as it travels in `payload`; its id and time are added where it is spelt. */
export interface AgentEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** AgentScope's `ToolUseBlock`: a call, with the state it is in. */
export interface ToolUse {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** The arguments as one text. */
  readonly content: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly state: 'asking' | 'allowed';
}

/** Pending items as `ToolUseBlock`s; a question is a call of the tool `question`. */
export function toolUseOf(item: ConfirmationBody, state: ToolUse['state'] = 'asking', edited?: unknown): ToolUse {
  const input = edited ?? argumentsOf(item);
  return {
    type: 'tool_use',
    id: item.tool_call_id,
    name: toolNameOf(item),
    input: isObject(input) ? input : { raw: input },
    content: JSON.stringify(input),
    metadata: {},
    state,
  };
}

/** The tool of a pending item; one that calls none is shown by its kind. */
export function toolNameOf({ tool_name, kind }: ConfirmationBody): string {
  return tool_name ?? kind;
}

/** What the call would be made with; what has no arguments says what it asks. */
export function argumentsOf({ arguments: args, prompt }: ConfirmationBody): unknown {
  return args ?? (prompt === undefined ? {} : { prompt });
}

/** AgentScope's `ChatUsage`. Nothing is known of caches and times. */
export function chatUsageOf({ input_tokens, output_tokens }: UsageBody): Readonly<Record<string, number>> {
  const counts = { inputTokens: input_tokens, outputTokens: output_tokens };
  return { ...counts, cachedTokens: 0, time: 0, totalTokens: input_tokens + output_tokens };
}

/** Why a task failed, in one line that begins with its code. */
export function failureText({ code, message }: ErrorBody): string {
  return `${code}: ${message}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
