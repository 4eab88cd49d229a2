import type { IncomingHttpHeaders } from 'node:http';
import { DomainError, statusOf } from '#lib/domain';
import type { Fault, TaskSnapshot } from '#lib/domain';
import type { RawJson } from '../core/raw-json.js';
import type { Submitted, SubmitRequest } from '../core/submissions.service.js';
import { invalid } from '../http/dto.js';
import type { JsonDocument } from '../http/json-document.js';
import type { LinksAnswer, SubmitAnswer, SyncAnswer } from './answer.dto.js';
import type { SubmitBody } from './submit.dto.js';
import { encodeTask } from './tasks.mapping.js';

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/** Submission of the native contract, checked beyond what the DTO can say. */
export function decodeSubmit(
  document: JsonDocument<SubmitBody>,
  headers: IncomingHttpHeaders,
  requestId: string,
): SubmitRequest {
  const { value: body } = document;
  const faults = checkHeaders(headers, body);
  if (faults.length > 0) throw invalid(faults);
  const idempotencyKey = headers['idempotency-key'];
  return {
    taskId: body.task_id ?? undefined,
    idempotencyKey: typeof idempotencyKey === 'string' ? idempotencyKey : undefined,
    agentId: body.agent_id ?? undefined,
    type: body.type ?? undefined,
    sessionId: body.session_id ?? undefined,
    input: raw(document, 'input'),
    context: rawIfAny(document, 'context'),
    tools: rawIfAny(document, 'tools'),
    deadlineSeconds: body.deadline_seconds ?? undefined,
    callbackUrl: body.callback?.url,
    priority: body.priority ?? undefined,
    detail: body.context?.detail ?? undefined,
    isHeld: body.held,
    body,
    requestId,
  };
}

export function encodeSubmitted({ taskId, state, warnings }: Submitted): SubmitAnswer {
  return {
    task_id: taskId,
    status: statusOf(state),
    state,
    links: linksOf(taskId),
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

/** The snapshot of a task that was waited for. */
export function encodeSettled(task: TaskSnapshot, { warnings }: Submitted): SyncAnswer {
  return { ...encodeTask(task), ...(warnings.length > 0 ? { warnings } : {}) };
}

/** True when the caller wants the outcome in the answer, as far as it comes in time. */
export function isSync({ mode }: SubmitBody, headers: IncomingHttpHeaders): boolean {
  return mode === 'sync' || headers['x-api-mode'] === 'sync';
}

export function linksOf(taskId: string): LinksAnswer {
  const self = taskPath(taskId);
  return {
    self,
    events: `${self}/events`,
    wait: `${self}/wait`,
    cancel: `${self}/cancel`,
    artifacts: `${self}/artifacts`,
  };
}

/** Ids of tasks hold nothing that a path would have to escape. */
export function taskPath(taskId: string): string {
  return `/v1/tasks/${taskId}`;
}

/** What is known and refused until it is built; `path` names it. */
export function notAvailable(path: string, what: string): DomainError {
  const message = 'is not available yet';
  return new DomainError('not_available', `${what} ${message}.`, {
    faults: [{ path, code: 'not_available', message }],
  });
}

function raw(document: JsonDocument<SubmitBody>, field: 'input' | 'context' | 'tools'): RawJson {
  return { text: document.textOf(field)!, value: document.value[field] };
}

function rawIfAny(document: JsonDocument<SubmitBody>, field: 'context' | 'tools'): RawJson | undefined {
  return document.value[field] == null ? undefined : raw(document, field);
}

function checkHeaders(headers: IncomingHttpHeaders, body: SubmitBody): Fault[] {
  const faults: Fault[] = [];
  const { 'idempotency-key': key, 'x-api-mode': mode } = headers;
  if (key !== undefined && !IDEMPOTENCY_KEY.test(String(key))) {
    faults.push({
      path: 'header.idempotency-key',
      code: 'matches',
      message: 'must be 1 to 255 visible ASCII characters',
    });
  }
  if (mode !== undefined && mode !== 'sync' && mode !== 'async') {
    faults.push({ path: 'header.x-api-mode', code: 'is_in', message: 'must be async or sync' });
  } else if (mode !== undefined && body.mode != null && body.mode !== mode) {
    faults.push({ path: 'header.x-api-mode', code: 'contradicts', message: 'must not contradict /mode' });
  }
  return faults;
}
