import { DomainError, ERRORS, isDomainError } from '#lib/domain';
import type { ErrorCode, Fault } from '#lib/domain';
import { limitHeaders } from './rate-limit.js';

/** Media type of error bodies (RFC 9457). */
export const PROBLEM_TYPE = 'application/problem+json';

/** Error body of the native surface. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly instance: string;
  readonly errors?: readonly Fault[];
  /** As of draft-ietf-httpapi-ratelimit-headers-10, 5.1. */
  readonly 'violated-policies'?: readonly string[];
}

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  406: 'not_acceptable',
  408: 'request_timeout',
  410: 'gone',
  413: 'payload_too_large',
  414: 'uri_too_long',
  415: 'unsupported_media_type',
  429: 'rate_limited',
  431: 'headers_too_large',
  503: 'unavailable',
};

/** Seconds a caller is asked to wait when nothing better is known. */
const DEFAULT_RETRY_SECONDS = 1;

/** The error callers see for whatever was thrown. What is not meant for them becomes `internal` and says nothing. */
export function toDomainError(error: unknown): DomainError {
  if (isDomainError(error)) return error;
  const status = statusOf(error);
  if (status === undefined || (status >= 500 && status !== 503)) {
    return new DomainError('internal', 'The request could not be served; the request id finds the reason in our log.', {
      cause: error,
    });
  }
  const code = BY_STATUS[status] ?? 'invalid_request';
  return new DomainError(code, `${ERRORS[code].title}.`, { cause: error });
}

/** The status that Nest and Express attach to the errors they throw. */
function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('getStatus' in error && typeof error.getStatus === 'function')
    return Number((error.getStatus as () => unknown).call(error));
  return 'status' in error && 'expose' in error && typeof error.status === 'number' ? error.status : undefined;
}

/** `path` is the path of the request, without its query: that may hold a signature. */
export function encodeProblem(error: DomainError, path: string): Problem {
  const { status, title } = ERRORS[error.code];
  return {
    ...error.extensions,
    type: `urn:switchyard:error:${error.code}`,
    title,
    status,
    code: error.code,
    detail: error.message,
    instance: path,
    ...(error.faults.length > 0 && { errors: error.faults }),
    ...(error.limit && { 'violated-policies': [error.limit.policy] }),
  };
}

/** Headers that go with an error on every wire. */
export function errorHeaders(error: DomainError): Readonly<Record<string, string>> {
  if (error.code === 'unauthenticated') return { 'WWW-Authenticate': 'Bearer' };
  if (error.code === 'rate_limited' || error.code === 'unavailable') {
    const retryAfter = String(error.retryAfterSeconds ?? DEFAULT_RETRY_SECONDS);
    return { 'Retry-After': retryAfter, ...(error.limit && limitHeaders(error.limit)) };
  }
  return {};
}
