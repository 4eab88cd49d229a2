import { type DomainError, type ErrorCode, type FailureCode, FAILURES, type Fault } from '#lib/domain';
import type { Failure } from './answer.js';

/** Status, type and code of an error (API guide, "Error codes"). */
interface Row {
  readonly status: number;
  readonly type: string;
  readonly code: string;
}

const request = (status: number, code: string): Row => ({ status, type: 'invalid_request_error', code });
const server = (status: number, code: string): Row => ({ status, type: 'server_error', code });

const INVALID = request(400, 'invalid_value');
const NO_MODEL = request(404, 'model_not_found');
const NO_TASK = request(404, 'task_not_found');
/** Clients send a 409 again, whatever it says. */
const CONFLICT = request(422, 'conflict');

const ROWS: Readonly<Record<ErrorCode, Row>> = {
  invalid_request: INVALID,
  invalid_edited_args: INVALID,
  ambiguous_input: INVALID,
  answer_required: INVALID,
  wait_id_required: INVALID,
  unauthenticated: request(401, 'invalid_api_key'),
  forbidden: { status: 403, type: 'permission_error', code: 'insufficient_permissions' },
  tool_denied: { status: 403, type: 'permission_error', code: 'tool_denied' },
  approval_required: { status: 403, type: 'permission_error', code: 'approval_required' },
  not_found: NO_TASK,
  method_not_allowed: request(405, 'method_not_allowed'),
  not_acceptable: request(406, 'not_acceptable'),
  idempotency_conflict: request(422, 'idempotency_key_reused'),
  not_waiting: CONFLICT,
  wait_changed: CONFLICT,
  session_busy: request(422, 'session_busy'),
  call_in_progress: CONFLICT,
  run_over: CONFLICT,
  gone: NO_TASK,
  precondition_failed: request(412, 'precondition_failed'),
  request_timeout: request(408, 'request_timeout'),
  payload_too_large: request(413, 'request_too_large'),
  uri_too_long: request(414, 'uri_too_long'),
  unsupported_media_type: request(415, 'unsupported_media_type'),
  range_not_satisfiable: request(416, 'range_not_satisfiable'),
  unsupported_input: request(400, 'unsupported_value'),
  no_route: NO_MODEL,
  unknown_agent: NO_MODEL,
  agent_disabled: NO_MODEL,
  not_available: request(400, 'unsupported_parameter'),
  headers_too_large: request(431, 'headers_too_large'),
  rate_limited: { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  internal: server(500, 'internal_error'),
  unavailable: server(503, 'overloaded'),
};

/** Codes of faults that clients know by these names. */
const KNOWN_FAULTS: ReadonlySet<string> = new Set([
  'invalid_json',
  'invalid_value',
  'missing_required_parameter',
  'unsupported_parameter',
  'unsupported_value',
]);

/** What is missing when a path leads nowhere. */
export type Missing = 'model' | 'task' | 'url';
const MISSING: Readonly<Record<Missing, { readonly code: string; readonly param: string | null }>> = {
  model: { code: 'model_not_found', param: 'model' },
  task: { code: 'task_not_found', param: 'metadata.task_id' },
  url: { code: 'unknown_url', param: null },
};

/** An error of a request (API guide, "Error codes"). `missing` says what `not_found` is about. */
export function encodeError(error: Pick<DomainError, 'code' | 'message' | 'faults'>, missing: Missing): Failure {
  const { status, type, code } = ROWS[error.code];
  const { message } = error;
  if (error.code === 'not_found') return { status, error: { message, type, ...MISSING[missing] } };
  const [fault] = error.faults;
  const param = code === NO_MODEL.code ? 'model' : fault ? paramOf(fault) : null;
  return { status, error: { message, type, param, code: faultCode(fault) ?? code } };
}

/** `/messages/1/content` as clients write it: `messages[1].content`. */
function paramOf({ path }: Fault): string | null {
  if (path === '') return null;
  if (!path.startsWith('/')) return path.replace(/^(?:query|header)\./, '');
  const names = path.slice(1).split('/');
  return names
    .map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${name.replaceAll('~1', '/').replaceAll('~0', '~')}`))
    .join('')
    .replace(/^\./, '');
}

function faultCode(fault: Fault | undefined): string | undefined {
  return fault && KNOWN_FAULTS.has(fault.code) ? fault.code : undefined;
}

const AGENT_FAILED = server(500, 'agent_failed');
const TIMED_OUT = server(504, 'task_timeout');

const FAILED: Readonly<Record<FailureCode, Row>> = {
  deadline_exceeded: TIMED_OUT,
  confirmation_expired: TIMED_OUT,
  backend_unavailable: AGENT_FAILED,
  rejected: AGENT_FAILED,
  timeout: TIMED_OUT,
  protocol: AGENT_FAILED,
  runtime_lost: AGENT_FAILED,
  outcome_unknown: AGENT_FAILED,
  poison: AGENT_FAILED,
  budget_exceeded: AGENT_FAILED,
  held_expired: TIMED_OUT,
  internal: AGENT_FAILED,
};

/** A task that failed; `code` is that of its failure. */
export function encodeFailed({ code, message }: { readonly code: string; readonly message: string }): Failure {
  const known = Object.hasOwn(FAILURES, code) ? FAILED[code as FailureCode] : AGENT_FAILED;
  return failureOf(known, message);
}

/** A task that somebody else has stopped. */
export function encodeCancelled(): Failure {
  return failureOf(request(400, 'task_cancelled'), 'The task was cancelled.');
}

/** The answer has not come within the time there is for it. */
export function encodeLate(message: string): Failure {
  return failureOf(TIMED_OUT, message);
}

/** The gateway ends the stream before the answer is complete: it stops, or the credential has. */
export function encodeLeaving(): Failure {
  return failureOf(server(503, 'overloaded'), 'The stream was ended by the gateway; ask for the task again.');
}

function failureOf({ status, type, code }: Row, message: string): Failure {
  return { status, error: { message, type, param: null, code } };
}
