import type { IncomingHttpHeaders } from 'node:http';
import type { RunAgentInput } from '@ag-ui/core';
import { type ClientToolMode, type DomainError, faulty } from '#lib/domain';
import { AGUI_ERRORS, readRunInput } from '#lib/protocol/ag-ui';
import type { Request } from 'express';
import type { SubmitRequest } from '../core/submissions.service.js';
import { pathOf } from '../http/denial.js';
import type { WireError } from '../http/error.wires.js';
import type { JsonDocument } from '../http/json-document.js';
import { encodeProblem } from '../http/problem.js';
import type { AgUiOptions } from './ag-ui.options.js';

/** A run as it is asked for. */
export interface RunRequest {
  readonly input: RunAgentInput;
  /** As it came: what tells a repeat from another request. */
  readonly body: unknown;
  readonly agentId: string | undefined;
  /** Header fields that runs may be told of. */
  readonly headers: Readonly<Record<string, string>>;
  readonly requestId: string;
}

/** Where a request was met. */
export interface RunPlace {
  readonly agentId: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly requestId: string;
}

/** The agent is that of the path, else of the header, else of the forwarded properties. @throws DomainError `invalid_request` */
export function decodeRun(
  document: JsonDocument,
  { agentId, headers, requestId }: RunPlace,
  options: Pick<AgUiOptions, 'agentHeader' | 'contextHeaders'>,
): RunRequest {
  const read = readRunInput(document.value);
  if ('faults' in read) throw faulty('invalid_request', read.faults);
  const { forwardedProps } = read.input as { forwardedProps?: { agentId?: unknown } | null };
  const named = textOf(headers[options.agentHeader.toLowerCase()]) ?? textOf(forwardedProps?.agentId);
  return {
    input: read.input,
    body: document.value,
    agentId: agentId ?? named,
    headers: Object.fromEntries(
      options.contextHeaders.flatMap((name) => {
        const value = textOf(headers[name.toLowerCase()]);
        return value === undefined ? [] : [[name.toLowerCase(), value]];
      }),
    ),
    requestId,
  };
}

/** The task of a run. Who calls is never read from the body. */
export function encodeSubmission(
  { input, body, agentId, headers, requestId }: RunRequest,
  task: { readonly input: unknown; readonly taskId: string; readonly clientToolMode: ClientToolMode },
): (context: Readonly<Record<string, unknown>>) => SubmitRequest {
  const { threadId, runId } = input;
  const { state, context: hints, forwardedProps } = input as Readonly<Record<string, unknown>>;
  const told = { thread_id: threadId, run_id: runId, state, context: hints, forwarded_props: forwardedProps };
  const attributes = Object.keys(headers).length === 0 ? {} : { attributes: headers };
  return (context) => ({
    taskId: task.taskId,
    agentId,
    sessionId: threadId,
    sessionStrategy: 'reject',
    input: raw(task.input),
    context: raw({ ...context, ag_ui: told, ...attributes }),
    ...(input.tools?.length ? { tools: raw(input.tools.map(toolOf)) } : {}),
    clientToolMode: task.clientToolMode,
    detail: 'verbose',
    body,
    isFollowed: true,
    requestId,
  });
}

/** In the catalogue's words with this wire's statuses; official clients read it from JSON only. */
export function encodeAgUiError(error: DomainError, request: Request): WireError {
  const { status } = AGUI_ERRORS[error.code];
  const problem = { ...encodeProblem(error, pathOf(request)), status };
  return { status, type: 'application/json', body: JSON.stringify(problem) };
}

function toolOf({ name, description, parameters }: NonNullable<RunAgentInput['tools']>[number]): object {
  return { name, description, ...(parameters === undefined ? {} : { parameters: parameters as unknown }) };
}

function raw(value: unknown): { text: string; value: unknown } {
  const text = JSON.stringify(value);
  return { text, value: JSON.parse(text) as unknown };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
