import type { AnswerRequest, ConfirmationBody, Fault, OnInterrupt, TaskKey } from '#lib/domain';
import type { AnswerPart, ToolCall } from '#lib/protocol/openai-chat';
import { invalid } from '../http/dto.js';
import { encodeCallId } from './call-ids.js';

/** The tool by which a client lets itself be asked for approvals. It is never shown to the agent. */
export const APPROVAL_TOOL = 'gateway_request_approval';

/** A wait of a task, and the event that began it. */
export interface Pause {
  readonly taskKey: TaskKey;
  readonly taskId: string;
  readonly seq: number;
  readonly waitId: string;
  readonly items: readonly ConfirmationBody[];
}

/** How approvals are come by, for one request. */
export interface Manner {
  readonly onInterrupt: OnInterrupt;
  /** The request declares the tool for approvals. */
  readonly canApprove: boolean;
}

const isCall = ({ kind }: ConfirmationBody): boolean => kind === 'client_tool';
const isQuestion = ({ kind }: ConfirmationBody): boolean => kind === 'question';
const isApproval = (item: ConfirmationBody): boolean => !isCall(item) && !isQuestion(item);

const NO_APPROVAL = 'Approvals are not available on this endpoint.';
const NOTICE = 'An approval is needed before this can go on.';
const UNANSWERED = 'No answer was given.';

/** True when a pause asks something that is answered in words. */
export function asksQuestion({ items }: Pause): boolean {
  return items.some(isQuestion);
}

/** What the client is to call: its own tools, and the one for approvals where it has it. */
export function callsOf(pause: Pause, { onInterrupt, canApprove }: Manner): readonly ToolCall[] {
  const { taskKey, seq, items } = pause;
  const own = items.flatMap((item, place) =>
    isCall(item)
      ? [{ id: encodeCallId({ taskKey, seq, place }), name: item.tool_name ?? '', arguments: textOf(item.arguments) }]
      : [],
  );
  const open = items.filter(isApproval);
  if (open.length === 0 || onInterrupt !== 'tool_call' || !canApprove) return own;
  const id = encodeCallId({ taskKey, seq, place: 'approval' });
  return [...own, { id, name: APPROVAL_TOOL, arguments: JSON.stringify({ pending: open.map(pendingOf) }) }];
}

/** What a pause is to its client: the end of an answer. Undefined: nobody is asked, what is to be approved is denied. */
export function partsOfPause(pause: Pause, manner: Manner): readonly AnswerPart[] | undefined {
  const { taskId, items } = pause;
  const calls = callsOf(pause, manner);
  const questions = items.filter(isQuestion).map(({ prompt }) => prompt ?? '');
  if (calls.length > 0) return [...textsOf(questions), { kind: 'calls', calls }, { kind: 'end', finish: 'tool_calls' }];
  const open = items.filter(isApproval);
  if (questions.length === 0 && manner.onInterrupt !== 'surface') return undefined;
  const gateway = { taskId, status: 'waiting_for_input', pending: items.map(pendingOf) };
  return [
    ...textsOf([...questions, ...(open.length > 0 && questions.length === 0 ? [NOTICE] : [])]),
    { kind: 'end', finish: 'stop', gateway },
  ];
}

/** The answer that approves nothing. */
export function denialOf({ items }: Pause): AnswerRequest {
  const decisions = items
    .filter(isApproval)
    .map(({ tool_call_id }) => ({ tool_call_id, approved: false, reason: NO_APPROVAL }));
  return { decisions, results: [] };
}

/** What a client says of a call, and where. */
export interface CallResult {
  readonly text: string;
  /** JSON Pointer. */
  readonly path: string;
}

/**
 * What the results of calls, by their ids, answer.
 * @throws DomainError `invalid_request` for decisions that cannot be read: the task goes on waiting.
 */
export function answerOf({ taskKey, seq, items }: Pause, results: ReadonlyMap<string, CallResult>): AnswerRequest {
  const approval = results.get(encodeCallId({ taskKey, seq, place: 'approval' }));
  return {
    decisions: approval ? decisionsOf(approval) : [],
    results: items.flatMap((item, place) => {
      const { tool_call_id } = item;
      if (isQuestion(item)) return [{ tool_call_id, output: UNANSWERED }];
      const result = results.get(encodeCallId({ taskKey, seq, place }));
      return isCall(item) && result ? [{ tool_call_id, output: result.text }] : [];
    }),
  };
}

interface Decision {
  readonly toolCallId: string;
  readonly approved?: unknown;
  readonly reason?: unknown;
  readonly editedArgs?: unknown;
}

function decisionsOf({ text, path }: CallResult): AnswerRequest['decisions'] {
  const { decisions } = (parse(text) ?? {}) as { readonly decisions?: unknown };
  if (!Array.isArray(decisions) || !decisions.every(isDecision)) {
    const message = 'must be JSON {"decisions":[{"toolCallId","approved","reason"?,"editedArgs"?}]}';
    throw invalid([{ path: `${path}/content`, code: 'invalid_value', message } satisfies Fault]);
  }
  return decisions.map(({ toolCallId, approved, reason, editedArgs }) => ({
    tool_call_id: toolCallId,
    approved,
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(editedArgs == null ? {} : { edited_args: editedArgs }),
  }));
}

function isDecision(value: unknown): value is Decision {
  return typeof value === 'object' && value !== null && typeof (value as Decision).toolCallId === 'string';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function pendingOf({ tool_call_id, kind, tool_name, arguments: args, prompt }: ConfirmationBody): object {
  return {
    toolCallId: tool_call_id,
    kind,
    ...(tool_name === undefined ? {} : { toolName: tool_name }),
    ...(args === undefined ? {} : { args }),
    ...(prompt === undefined ? {} : { message: prompt }),
  };
}

function textsOf(texts: readonly string[]): readonly AnswerPart[] {
  return texts.length === 0 ? [] : [{ kind: 'text', text: texts.join('\n\n') }];
}

/** Arguments are JSON text, whatever they are. */
function textOf(args: unknown): string {
  return JSON.stringify(args ?? {});
}
