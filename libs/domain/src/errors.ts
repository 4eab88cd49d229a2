import type { LimitStanding } from './limit.js';

/** The catalogue of errors callers see. `docs/errors.md` is compared with it by a test. */
export const ERRORS = {
  invalid_request: { status: 400, title: 'The request is not valid', retryable: false },
  invalid_edited_args: { status: 400, title: 'The edited arguments are not what the tool takes', retryable: false },
  ambiguous_input: { status: 400, title: 'The input could answer several questions', retryable: false },
  answer_required: { status: 400, title: 'A question is left without an answer', retryable: false },
  wait_id_required: { status: 400, title: 'The answer does not say what it answers', retryable: false },
  unauthenticated: { status: 401, title: 'Credentials are missing or not valid', retryable: false },
  forbidden: { status: 403, title: 'The credentials do not allow this', retryable: false },
  tool_denied: { status: 403, title: 'The run may not make this call', retryable: false },
  approval_required: { status: 403, title: 'Nobody has approved exactly this call', retryable: false },
  not_found: { status: 404, title: 'There is no such thing, or it is not yours', retryable: false },
  method_not_allowed: { status: 405, title: 'The path does not take this method', retryable: false },
  not_acceptable: { status: 406, title: 'No representation of the asked media types', retryable: false },
  idempotency_conflict: { status: 409, title: 'The key was used for another request', retryable: false },
  not_waiting: { status: 409, title: 'The task is not waiting for input', retryable: false },
  wait_changed: { status: 409, title: 'The task now waits for something else', retryable: false },
  session_busy: { status: 409, title: 'The session has an unfinished task', retryable: true },
  call_in_progress: { status: 409, title: 'The call is being made', retryable: true },
  run_over: { status: 409, title: 'The run is over, or is to end', retryable: false },
  gone: { status: 410, title: 'It existed and was removed', retryable: false },
  precondition_failed: { status: 412, title: 'It is no longer what the request expects', retryable: false },
  request_timeout: { status: 408, title: 'The request did not arrive in time', retryable: true },
  payload_too_large: { status: 413, title: 'The body is too large', retryable: false },
  uri_too_long: { status: 414, title: 'The address is too long', retryable: false },
  unsupported_media_type: { status: 415, title: 'The content type is not supported', retryable: false },
  range_not_satisfiable: { status: 416, title: 'No byte of the asked range exists', retryable: false },
  unsupported_input: { status: 422, title: 'The agent does not take this input', retryable: false },
  no_route: { status: 422, title: 'No route of the agent matches the task', retryable: false },
  unknown_agent: { status: 422, title: 'There is no such agent', retryable: false },
  agent_disabled: { status: 422, title: 'The agent takes no new tasks', retryable: true },
  not_available: { status: 422, title: 'Known, but not available in this version', retryable: false },
  headers_too_large: { status: 431, title: 'The header fields are too large', retryable: false },
  rate_limited: { status: 429, title: 'A limit was reached', retryable: true },
  internal: { status: 500, title: 'Something went wrong on our side', retryable: true },
  unavailable: { status: 503, title: 'A backing service is not available', retryable: true },
} as const;

/** The code of a request's error: stable, what callers decide by. */
export type ErrorCode = keyof typeof ERRORS;

/** One fault in a request. `path` is a JSON Pointer (RFC 6901), `query.x` or `header.x`. */
export interface Fault {
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

/** What an error says besides code and message. */
export interface ErrorDetails {
  readonly faults?: readonly Fault[];
  /** Seconds after which trying again makes sense. */
  readonly retryAfterSeconds?: number;
  /** Which limit was reached. */
  readonly limit?: LimitStanding;
  readonly cause?: unknown;
  /** Further members of the problem document, by name. */
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** What services throw. `message` is shown to the caller; it names no internals. */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly faults: readonly Fault[];
  readonly retryAfterSeconds: number | undefined;
  readonly limit: LimitStanding | undefined;
  readonly extensions: Readonly<Record<string, unknown>>;

  constructor(
    readonly code: ErrorCode,
    message: string,
    details: ErrorDetails = {},
  ) {
    super(message, { cause: details.cause });
    this.faults = details.faults ?? [];
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.limit = details.limit;
    this.extensions = details.extensions ?? {};
  }
}

/** More faults than this say nothing new and may be as long as the body. */
const MAX_FAULTS = 20;

/** The error of a request with these faults; its message tells the first. */
export function faulty(code: ErrorCode, faults: readonly Fault[]): DomainError {
  const [first] = faults;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  const detail =
    first === undefined ? `${ERRORS[code].title}.` : `${first.path || 'The body'}: ${first.message}${more}.`;
  return new DomainError(code, detail, { faults: faults.slice(0, MAX_FAULTS) });
}

/** True for our own errors; by name, since realms differ under test. */
export function isDomainError(error: unknown): error is DomainError {
  return error instanceof Error && error.name === 'DomainError';
}

/** A backing service cannot be reached or gave up: nothing is wrong with what was asked, and its outcome may be unknown. */
export class UnavailableError extends DomainError {
  constructor(message: string, details: { readonly cause?: unknown } = {}) {
    super('unavailable', message, { ...details, retryAfterSeconds: 1 });
  }
}

/** True when trying again makes sense though nothing was wrong with what was asked. */
export function isUnavailableError(error: unknown): error is DomainError {
  return isDomainError(error) && error.code === 'unavailable';
}

/**
 * Codes of `task.failed`. They describe a task's end, not a request.
 * `docs/errors.md` lists them beside the request errors.
 */
export const FAILURES = {
  deadline_exceeded: 'The deadline passed before the task ended.',
  confirmation_expired: 'Nobody answered in time.',
  backend_unavailable: 'The backend could not be reached, or no runtime serves it.',
  rejected: 'The backend refused the work.',
  timeout: 'The backend did not answer in time.',
  protocol: 'The backend broke its contract.',
  runtime_lost: 'The runtime died and the run cannot be resumed.',
  outcome_unknown: 'The work may have been done; it is not tried again.',
  poison: 'The task lost its runtime each time it ran.',
  budget_exceeded: 'A budget of the agent was used up.',
  held_expired: 'The task was held and never released.',
  internal: 'Something went wrong on our side.',
} as const;

/** The code in `error` of a task that failed. */
export type FailureCode = keyof typeof FAILURES;
