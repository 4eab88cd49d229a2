import { type ErrorCode, type FailureCode, FAILURES } from '#lib/domain';

/** Reason of a cancel that stands for the time a run may take. */
export const RUN_TIMEOUT = 'run_timeout';

/** Codes of `RUN_ERROR` that do not come from a task's failure. */
export type RunErrorCode =
  | 'TIMEOUT_ERROR'
  | 'INTERRUPTED_ERROR'
  | 'INVALID_INPUT_ERROR'
  | 'INTERNAL_ERROR'
  | 'AGUI_INTERRUPT_CONTRACT_ERROR'
  | 'THREAD_BUSY'
  | 'RUN_ID_REUSED'
  | 'REMOTE_FAILED';

/** How a request's error is answered: by a status, or, where the run is what fails, in a stream of its own. */
export interface AgUiError {
  readonly status: number;
  readonly run?: RunErrorCode;
}

/** Every error of the catalogue (run errors; HTTP binding: statuses before the run exists). */
export const AGUI_ERRORS: Readonly<Record<ErrorCode, AgUiError>> = {
  invalid_request: { status: 400 },
  invalid_edited_args: { status: 400, run: 'AGUI_INTERRUPT_CONTRACT_ERROR' },
  ambiguous_input: { status: 400, run: 'AGUI_INTERRUPT_CONTRACT_ERROR' },
  answer_required: { status: 400, run: 'AGUI_INTERRUPT_CONTRACT_ERROR' },
  wait_id_required: { status: 400, run: 'AGUI_INTERRUPT_CONTRACT_ERROR' },
  unauthenticated: { status: 401 },
  forbidden: { status: 403 },
  tool_denied: { status: 403 },
  approval_required: { status: 403 },
  not_found: { status: 404 },
  method_not_allowed: { status: 405 },
  not_acceptable: { status: 406 },
  idempotency_conflict: { status: 409, run: 'RUN_ID_REUSED' },
  not_waiting: { status: 409, run: 'AGUI_INTERRUPT_CONTRACT_ERROR' },
  wait_changed: { status: 409, run: 'AGUI_INTERRUPT_CONTRACT_ERROR' },
  session_busy: { status: 409, run: 'THREAD_BUSY' },
  call_in_progress: { status: 409 },
  run_over: { status: 409 },
  gone: { status: 410 },
  precondition_failed: { status: 412 },
  request_timeout: { status: 408 },
  payload_too_large: { status: 413 },
  uri_too_long: { status: 414 },
  unsupported_media_type: { status: 415 },
  range_not_satisfiable: { status: 416 },
  unsupported_input: { status: 422, run: 'INVALID_INPUT_ERROR' },
  no_route: { status: 404 },
  unknown_agent: { status: 404 },
  agent_disabled: { status: 503 },
  not_available: { status: 422, run: 'INVALID_INPUT_ERROR' },
  headers_too_large: { status: 431 },
  rate_limited: { status: 429 },
  internal: { status: 500 },
  unavailable: { status: 503 },
};

const FAILURE_CODES: Readonly<Record<FailureCode, RunErrorCode>> = {
  deadline_exceeded: 'TIMEOUT_ERROR',
  confirmation_expired: 'INTERRUPTED_ERROR',
  backend_unavailable: 'REMOTE_FAILED',
  rejected: 'REMOTE_FAILED',
  timeout: 'TIMEOUT_ERROR',
  protocol: 'REMOTE_FAILED',
  runtime_lost: 'INTERRUPTED_ERROR',
  outcome_unknown: 'REMOTE_FAILED',
  poison: 'INTERNAL_ERROR',
  budget_exceeded: 'INTERRUPTED_ERROR',
  held_expired: 'INTERRUPTED_ERROR',
  internal: 'INTERNAL_ERROR',
};

/** The code of a task's failure as a run's. */
export function runCodeOfFailure(code: string): RunErrorCode {
  return Object.hasOwn(FAILURES, code) ? FAILURE_CODES[code as FailureCode] : 'INTERNAL_ERROR';
}
