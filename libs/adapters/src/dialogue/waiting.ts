import type { ModelMessage, ToolModelMessage } from 'ai';
import type { RunnerAnswer, RunnerEvent, RunnerItem } from '../contract/index.js';
import { bound, outputForModel } from './dialogue.mapping.js';

/** Characters of an error in an event; the model reads more of it. */
const ERROR_LENGTH = 1_000;

/** A call of a turn that waits: for an approval of the framework's, or, without an `approvalId`, for the caller's result. */
export interface WaitingCall {
  /** As the events name it. */
  readonly id: string;
  /** As the model named it. */
  readonly upstreamId: string;
  readonly toolName: string;
  readonly args: unknown;
  readonly approvalId?: string;
}

type AnswerPart = ToolModelMessage['content'][number];
type Decision = RunnerAnswer['decisions'][number];

/** What the run asks for. */
export function pauseOf(waiting: readonly WaitingCall[]): Extract<RunnerItem, { kind: 'pause' }> {
  const confirmations = waiting.map(({ id, toolName, args, approvalId }) => ({
    tool_call_id: id,
    kind: approvalId === undefined ? ('client_tool' as const) : ('tool_confirmation' as const),
    tool_name: toolName,
    arguments: args,
  }));
  return { kind: 'pause', confirmations };
}

/** A call of a client-side tool goes out with the pause, and comes back with the answer. */
export function clientCallEvents(waiting: readonly WaitingCall[]): RunnerEvent[] {
  return waiting
    .filter(({ approvalId }) => approvalId === undefined)
    .map(({ id, toolName, args }) => ({
      type: 'tool.invoked',
      payload: { tool_call_id: id, tool_name: toolName, arguments: args },
    }));
}

/** A conversation that goes on: its messages with the answer in them, and what became of client-side calls. */
export interface Answered {
  readonly messages: readonly ModelMessage[];
  readonly events: readonly RunnerEvent[];
  /** Characters of results that are kept from the model. */
  readonly omitted: number;
}

/**
 * Puts the answer where the framework looks for it: behind the messages, as responses to its approval requests and as
 * results. The framework cannot take other arguments than the model's, so edited ones replace them in the model's call.
 */
export function withAnswer(
  messages: readonly ModelMessage[],
  waiting: readonly WaitingCall[],
  { answer, limit }: { readonly answer: RunnerAnswer | undefined; readonly limit: number },
): Answered {
  const content: AnswerPart[] = [];
  const events: RunnerEvent[] = [];
  let edited = messages;
  let omitted = 0;
  for (const call of waiting) {
    if (call.approvalId === undefined) {
      const result = resultOf(call, answer, limit);
      content.push(result.part);
      events.push(result.event);
      omitted += result.omitted;
      continue;
    }
    const decision = answer?.decisions.find(({ tool_call_id }) => tool_call_id === call.id);
    content.push(responseTo(call.approvalId, decision, limit));
    if (decision?.approved === true && decision.edited_args !== undefined)
      edited = withArguments(edited, call.upstreamId, decision.edited_args);
  }
  return { messages: [...edited, { role: 'tool', content }], events, omitted };
}

/** Only the boolean true approves. */
function responseTo(approvalId: string, decision: Decision | undefined, limit: number): AnswerPart {
  const approved = decision?.approved === true;
  const reason = decision?.reason ?? (approved ? undefined : 'Permission denied by user');
  return {
    type: 'tool-approval-response',
    approvalId,
    approved,
    ...(reason === undefined ? {} : { reason: bound(reason, limit).text }),
  };
}

function resultOf(
  { id, upstreamId, toolName }: WaitingCall,
  answer: RunnerAnswer | undefined,
  limit: number,
): { readonly part: AnswerPart; readonly event: RunnerEvent; readonly omitted: number } {
  const result = answer?.results.find(({ tool_call_id }) => tool_call_id === id);
  const part = { type: 'tool-result', toolCallId: upstreamId, toolName } as const;
  const told = { tool_call_id: id, tool_name: toolName };
  if (result === undefined || result.error !== undefined) {
    const message = result?.error ?? 'The caller gave no result.';
    return {
      part: { ...part, output: { type: 'error-text', value: bound(message, limit).text } },
      event: { type: 'tool.failed', payload: { ...told, error: { code: 'failed', message: storable(message) } } },
      omitted: 0,
    };
  }
  const { value, omitted } = outputForModel(result.output, limit);
  return {
    part: { ...part, output: { type: 'json', value: value as null } },
    event: { type: 'tool.completed', payload: { ...told, output: result.output ?? null } },
    omitted,
  };
}

/** An error of the caller's as an event may hold it: not too long, without U+0000 and half characters. */
function storable(message: string): string {
  return bound(message, ERROR_LENGTH).text.replaceAll(/[\0\p{Cs}]/gu, '\uFFFD');
}

/** The messages with other arguments in the last call of that id: endpoints use theirs again in later turns. */
function withArguments(
  messages: readonly ModelMessage[],
  upstreamId: string,
  args: Readonly<Record<string, unknown>>,
): readonly ModelMessage[] {
  const at = messages.findLastIndex(
    ({ role, content }) =>
      role === 'assistant' &&
      Array.isArray(content) &&
      content.some((part) => part.type === 'tool-call' && part.toolCallId === upstreamId),
  );
  const message = messages[at];
  if (message?.role !== 'assistant' || typeof message.content === 'string') return messages;
  const content = message.content.map((part) => {
    if (part.type === 'tool-call' && part.toolCallId === upstreamId) return { ...part, input: args };
    // What the model's own arguments were before they were parsed no longer belongs to the call.
    if (part.type === 'tool-approval-request' && part.toolCallId === upstreamId)
      return { type: part.type, approvalId: part.approvalId, toolCallId: part.toolCallId };
    return part;
  });
  return messages.with(at, { ...message, content });
}
