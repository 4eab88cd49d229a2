import type { IncomingHttpHeaders } from 'node:http';
import { CALLER_CONVERSATION, type DomainError, faulty, isName, type SeenState } from '#lib/domain';
import type { AnswerHead, ChatRequest, FunctionTool } from '#lib/protocol/openai-chat';
import type { SubmitRequest } from '../core/submissions.service.js';
import { invalid } from '../http/dto.js';
import type { DecodedConversation } from './conversation.mapping.js';
import { APPROVAL_TOOL } from './pauses.js';

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/** By what a repeated request is known. */
export interface Retried {
  /** The whole body as parsed. */
  readonly body: unknown;
  /** The caller's own key. */
  readonly key?: string;
  /** The client says that it has sent this before. */
  readonly isRetry: boolean;
}

/** @throws DomainError `invalid_request` for a key that is none. */
export function decodeRetry(headers: IncomingHttpHeaders, body: unknown): Retried {
  const { 'idempotency-key': key, 'x-stainless-retry-count': count } = headers;
  if (key !== undefined && !IDEMPOTENCY_KEY.test(String(key))) {
    const message = 'must be 1 to 255 visible ASCII characters';
    throw invalid([{ path: 'header.idempotency-key', code: 'invalid_value', message }]);
  }
  return { body, isRetry: Number(count ?? 0) > 0, ...(key === undefined ? {} : { key: String(key) }) };
}

/** What is added to a request. */
interface SubmissionTerms extends Required<Pick<SubmitRequest, 'agentId' | 'idempotencyKey' | 'clientToolMode'>> {
  readonly conversation: DecodedConversation;
}

/** What a request that begins a task submits. @throws DomainError `invalid_request` for a session that cannot be one. */
export function submissionOf(
  { request, body, requestId }: Retried & { readonly request: ChatRequest; readonly requestId: string },
  { conversation, ...terms }: SubmissionTerms,
): SubmitRequest {
  const { session_id } = request.metadata;
  if (session_id !== undefined && !isName(session_id)) {
    const message = 'must be 1 to 200 characters, none of them a control character';
    throw invalid([{ path: '/metadata/session_id', code: 'invalid_value', message }]);
  }
  const tools = request.tools.filter(({ name }) => name !== APPROVAL_TOOL).map(encodeTool);
  return {
    ...terms,
    sessionId: session_id,
    input: raw(conversation.input),
    context: raw(conversation.conversation ? { [CALLER_CONVERSATION]: conversation.conversation } : {}),
    ...(tools.length > 0 ? { tools: raw(tools) } : {}),
    detail: 'full',
    body,
    isFollowed: true,
    requestId,
  };
}

function encodeTool({ name, description, parameters }: FunctionTool): object {
  return {
    name,
    ...(description == null ? {} : { description }),
    // The reference lets parameters be left out, and their type too.
    ...(parameters == null || Object.keys(parameters).length === 0
      ? {}
      : { parameters: { type: 'object', ...parameters } }),
  };
}

function raw(value: unknown): { readonly text: string; readonly value: unknown } {
  return { text: JSON.stringify(value), value };
}

const INPUT = /^\/input(?:\/(\d+))?.*$/;
const TOOL = /^\/tools\/(\d+)/;
const CONVERSATION = /^\/context\/caller_conversation.*/;

/** The error with the places of its faults as the request has them. */
export function withPlaces(error: DomainError, places: readonly string[]): DomainError {
  if (error.faults.length === 0) return error;
  const faults = error.faults.map((fault) => ({
    ...fault,
    path: fault.path
      .replace(INPUT, (_, index?: string) => places[Number(index ?? 0)] ?? '/messages')
      .replace(TOOL, '/tools/$1/function')
      .replace(CONVERSATION, '/messages'),
  }));
  return faulty(error.code, faults);
}

/** The time in the key of a task: the same however often it is told. */
export function headOf({ taskKey, taskId }: Pick<SeenState, 'taskKey' | 'taskId'>, model: string): AnswerHead {
  const ms = parseInt(taskKey.replace('-', '').slice(0, 12), 16);
  return { id: `chatcmpl-${taskId}`, created: Math.floor(ms / 1000), model };
}
