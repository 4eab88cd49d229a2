import { type DomainError, type ErrorCode, type Fault } from '#lib/domain';

/**
 * Statuses by code. What a request says wrongly is 422, which createAgentTask and executeAgentTaskStep declare; clients take
 * any other as an internal error, whatever it is.
 */
const STATUSES: Readonly<Record<ErrorCode, number>> = {
  invalid_request: 422,
  invalid_edited_args: 422,
  ambiguous_input: 422,
  answer_required: 422,
  wait_id_required: 422,
  unauthenticated: 401,
  forbidden: 403,
  tool_denied: 403,
  approval_required: 403,
  not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  idempotency_conflict: 409,
  not_waiting: 409,
  wait_changed: 409,
  session_busy: 409,
  call_in_progress: 409,
  run_over: 409,
  gone: 410,
  precondition_failed: 412,
  request_timeout: 408,
  payload_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  unsupported_input: 422,
  no_route: 422,
  unknown_agent: 422,
  agent_disabled: 422,
  not_available: 422,
  headers_too_large: 431,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
};

/** The body of every error: the schema asks for `message` where it asks for anything. */
export interface ErrorBody {
  readonly message: string;
  readonly code: ErrorCode;
  readonly errors?: readonly Fault[];
}

/** Schema `NotFoundError`, and what is declared as `default`. */
export function encodeError(error: DomainError): { readonly status: number; readonly body: ErrorBody } {
  const { code, message, faults } = error;
  const body = { ...error.extensions, message, code, ...(faults.length > 0 ? { errors: faults } : {}) };
  return { status: STATUSES[code], body };
}
