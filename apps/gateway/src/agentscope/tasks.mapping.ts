import type { TaskSnapshot } from '#lib/domain';
import {
  encodeOutcome,
  encodeSnapshot,
  encodeTimeout,
  type RemoteSubmit,
  type ShownTask,
  type TaskOutcome,
  type TaskSnapshotAnswer,
} from '#lib/protocol/agentscope';
import type { RawJson } from '../core/raw-json.js';
import type { Submitted, SubmitRequest } from '../core/submissions.service.js';
import type { Waited } from '../core/tasks.service.js';
import { invalid } from '../http/dto.js';
import type { JsonDocument } from '../http/json-document.js';
import type { AgentScopeOptions } from './agentscope.options.js';

const INTEGER = /^-?\d{1,18}$/;
/** Where no other time is asked for. */
const DEFAULT_WAIT_SECONDS = 7_200;

/** The request to the core; what the caller wrote reaches the run as it was written. */
export function toSubmitRequest(document: JsonDocument, remote: RemoteSubmit, requestId: string): SubmitRequest {
  const { taskId, agentId, type, detail, input, hasContext } = remote;
  const body = document.value as Readonly<Record<string, unknown>>;
  return {
    taskId,
    agentId,
    type,
    detail,
    input: input === body['input'] ? rawOf(document, 'input', input) : { text: JSON.stringify(input), value: input },
    context: hasContext ? rawOf(document, 'context', body['context']) : undefined,
    body,
    requestId,
  };
}

/** `status` says `pending` whatever has become of it since; `state` says what has. */
export function encodeSubmitted({ taskId, state, warnings }: Submitted): object {
  return { task_id: taskId, status: 'pending', state, ...(warnings.length > 0 ? { warnings } : {}) };
}

export function encodeTask(task: TaskSnapshot, text: string, options: AgentScopeOptions): TaskSnapshotAnswer {
  return encodeSnapshot(shown(task, text, options));
}

export function encodeWaited(
  { task, timedOut }: Waited,
  text: string,
  { options, timeoutMs }: { readonly options: AgentScopeOptions; readonly timeoutMs: number },
): TaskOutcome {
  const seen = shown(task, text, options);
  return timedOut ? encodeTimeout(seen.state, timeoutMs) : encodeOutcome(seen);
}

/** No time, or less, asks for as long as we give. */
export function decodeTimeout(value: unknown, { maxHoldMs }: Pick<AgentScopeOptions, 'maxHoldMs'>): number {
  const seconds = decodeInteger(value, 'timeout_seconds') ?? DEFAULT_WAIT_SECONDS;
  return seconds > 0 ? Math.min(seconds * 1_000, maxHoldMs) : maxHoldMs;
}

/** The number of the last event a client has seen: `from_seq` if it is one, else `Last-Event-ID`, else none. */
export function decodeCursor(fromSeq: unknown, lastEventId: string | undefined): number {
  const asked = decodeInteger(fromSeq, 'from_seq') ?? 0;
  if (asked > 0) return asked;
  return lastEventId !== undefined && INTEGER.test(lastEventId) ? Math.max(0, Number(lastEventId)) : 0;
}

/** @throws DomainError `invalid_request` for what is there and no whole number */
function decodeInteger(value: unknown, name: string): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && INTEGER.test(value)) return Number(value);
  throw invalid([{ path: `query.${name}`, code: 'is_int', message: 'must be one whole number' }]);
}

/** Where nobody answers by this wire a pause is none of its business: to its clients the task goes on. */
function shown(task: TaskSnapshot, text: string, { isAnswerable }: AgentScopeOptions): ShownTask {
  const { taskId, error, pendingConfirmations } = task;
  const state = task.state === 'waiting_for_input' && !isAnswerable ? 'running' : task.state;
  return { taskId, state, text, error, pendingConfirmations };
}

function rawOf(document: JsonDocument, name: string, value: unknown): RawJson {
  return { text: document.textOf(name)!, value };
}
