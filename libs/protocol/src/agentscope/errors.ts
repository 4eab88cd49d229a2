import type { DomainError, ErrorCode } from '#lib/domain';

/** The status of each error; 404 and 405 have a meaning of their own to clients, which then do without a stream. */
const STATUSES: Readonly<Record<ErrorCode, number>> = {
  invalid_request: 400,
  invalid_edited_args: 400,
  ambiguous_input: 400,
  answer_required: 400,
  wait_id_required: 400,
  unauthenticated: 401,
  forbidden: 403,
  tool_denied: 403,
  approval_required: 403,
  not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  request_timeout: 408,
  idempotency_conflict: 409,
  not_waiting: 409,
  wait_changed: 409,
  session_busy: 409,
  call_in_progress: 409,
  run_over: 409,
  gone: 410,
  precondition_failed: 412,
  payload_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  unsupported_input: 422,
  no_route: 422,
  unknown_agent: 422,
  agent_disabled: 422,
  not_available: 501,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
};

/** What was asked of a task, as far as its path says. */
export interface TaskPlace {
  readonly taskId: string;
  /** The last part of the path; absent: the task itself. */
  readonly operation?: string;
}

/** An error as AgentScope's server spells it: one member, `error`, for people. */
export interface RemoteError {
  readonly status: number;
  readonly body: { readonly error: string; readonly task_id?: string; readonly status?: 'error' } | undefined;
}

export interface ErrorOptions {
  /** True: what is unknown is answered as AgentScope's own server does. */
  readonly isStrict: boolean;
  /** False: nobody can answer anything here. */
  readonly isAnswerable: boolean;
}

/** @param place absent: the path names no task. */
export function encodeError(error: DomainError, place: TaskPlace | undefined, options: ErrorOptions): RemoteError {
  if (place && error.code === 'not_found') return unknownTask(place, error, options);
  return { status: STATUSES[error.code], body: { error: place ? textOf(error, place, options) : error.message } };
}

/** The words clients know, where there are such. */
function textOf(error: DomainError, place: TaskPlace, { isAnswerable }: ErrorOptions): string {
  if (error.code === 'not_waiting') return isAnswerable ? notAwaiting(place) : HITL_OFF;
  return error.code === 'wait_changed' ? `task is already running: ${place.taskId}` : error.message;
}

const HITL_OFF = 'HITL is disabled on this server';
/** Why there are no streams. */
export const STREAMING_OFF = 'streaming is disabled';

const NOT_FOUND = 'task not found';

/**
 * The body is that of a task that failed, which clients take a 404 for as well.
 * Strict: 200 but for an answer to nothing, which is 409, and a cancel of nothing, which has no body.
 */
function unknownTask(place: TaskPlace, error: DomainError, { isStrict }: ErrorOptions): RemoteError {
  const { taskId, operation } = place;
  const status = isStrict ? 200 : 404;
  switch (operation) {
    case undefined:
      return { status, body: { task_id: taskId, status: 'error', error: NOT_FOUND } };
    case 'wait':
      return { status, body: { status: 'error', error: NOT_FOUND } };
    case 'cancel':
      return { status, body: isStrict ? undefined : { error: NOT_FOUND } };
    case 'resume':
      return isStrict ? { status: 409, body: { error: notAwaiting(place) } } : { status, body: { error: NOT_FOUND } };
    case 'events':
    case 'artifacts':
      return { status: 404, body: { error: NOT_FOUND } };
    default:
      // There is no such path.
      return { status: 404, body: { error: error.message } };
  }
}

function notAwaiting({ taskId }: TaskPlace): string {
  return `task is not awaiting confirmation: ${taskId}`;
}
