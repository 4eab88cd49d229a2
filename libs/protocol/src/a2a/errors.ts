import type { DomainError, ErrorCode, Fault } from '#lib/domain';

/** Errors of this protocol (A2A 1.0, "Error Handling"): code in JSON-RPC, status over HTTP, and names of both. */
const A2A_ERRORS = {
  TASK_NOT_FOUND: { rpc: -32001, http: 404, status: 'NOT_FOUND' },
  TASK_NOT_CANCELABLE: { rpc: -32002, http: 400, status: 'FAILED_PRECONDITION' },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { rpc: -32003, http: 400, status: 'FAILED_PRECONDITION' },
  UNSUPPORTED_OPERATION: { rpc: -32004, http: 400, status: 'FAILED_PRECONDITION' },
  CONTENT_TYPE_NOT_SUPPORTED: { rpc: -32005, http: 400, status: 'INVALID_ARGUMENT' },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: { rpc: -32007, http: 400, status: 'FAILED_PRECONDITION' },
  VERSION_NOT_SUPPORTED: { rpc: -32009, http: 400, status: 'FAILED_PRECONDITION' },
  INVALID_PARAMS: { rpc: -32602, http: 400, status: 'INVALID_ARGUMENT' },
  PARSE_ERROR: { rpc: -32700, http: 400, status: 'INVALID_ARGUMENT' },
  INTERNAL_ERROR: { rpc: -32603, http: 500, status: 'INTERNAL' },
} as const;

/** One of them, as its `reason` says. */
export type A2aReason = keyof typeof A2A_ERRORS;

/** Errors of HTTP, which come before the protocol: the status is the same on every binding. */
const HTTP_ERRORS = {
  unauthenticated: { http: 401, status: 'UNAUTHENTICATED' },
  forbidden: { http: 403, status: 'PERMISSION_DENIED' },
  unknown_agent: { http: 404, status: 'NOT_FOUND' },
  method_not_allowed: { http: 405, status: 'UNIMPLEMENTED' },
  not_acceptable: { http: 406, status: 'INVALID_ARGUMENT' },
  request_timeout: { http: 408, status: 'DEADLINE_EXCEEDED' },
  payload_too_large: { http: 413, status: 'INVALID_ARGUMENT' },
  uri_too_long: { http: 414, status: 'INVALID_ARGUMENT' },
  headers_too_large: { http: 431, status: 'INVALID_ARGUMENT' },
  rate_limited: { http: 429, status: 'RESOURCE_EXHAUSTED' },
  unavailable: { http: 503, status: 'UNAVAILABLE' },
} as const satisfies Partial<Record<ErrorCode, { http: number; status: string }>>;

type HttpCode = keyof typeof HTTP_ERRORS;

/** What each of our errors is called here. */
const REASONS: Readonly<Record<Exclude<ErrorCode, HttpCode>, A2aReason>> = {
  invalid_request: 'INVALID_PARAMS',
  invalid_edited_args: 'INVALID_PARAMS',
  ambiguous_input: 'INVALID_PARAMS',
  answer_required: 'INVALID_PARAMS',
  wait_id_required: 'INVALID_PARAMS',
  tool_denied: 'UNSUPPORTED_OPERATION',
  approval_required: 'UNSUPPORTED_OPERATION',
  not_found: 'TASK_NOT_FOUND',
  gone: 'TASK_NOT_FOUND',
  idempotency_conflict: 'INVALID_PARAMS',
  not_waiting: 'UNSUPPORTED_OPERATION',
  wait_changed: 'UNSUPPORTED_OPERATION',
  session_busy: 'UNSUPPORTED_OPERATION',
  call_in_progress: 'UNSUPPORTED_OPERATION',
  run_over: 'UNSUPPORTED_OPERATION',
  precondition_failed: 'INVALID_PARAMS',
  unsupported_media_type: 'CONTENT_TYPE_NOT_SUPPORTED',
  range_not_satisfiable: 'INVALID_PARAMS',
  unsupported_input: 'CONTENT_TYPE_NOT_SUPPORTED',
  no_route: 'UNSUPPORTED_OPERATION',
  agent_disabled: 'UNSUPPORTED_OPERATION',
  not_available: 'UNSUPPORTED_OPERATION',
  internal: 'INTERNAL_ERROR',
};

/** Lets a service say by which error of the protocol it refuses. */
export const REASON = 'a2aReason';

/** Code for errors of HTTP in JSON-RPC: of those left to servers (JSON-RPC 2.0, "Error object"). */
const SERVER_ERROR = -32000;

interface Spelling {
  readonly reason: string;
  readonly rpc: number;
  readonly http: number;
  readonly status: string;
}

function spell({ code, extensions, faults }: DomainError): Spelling {
  if (isHttpCode(code)) return { reason: code.toUpperCase(), rpc: SERVER_ERROR, ...HTTP_ERRORS[code] };
  const reason = (extensions[REASON] as A2aReason | undefined) ?? refine(faults) ?? REASONS[code];
  return { reason, ...A2A_ERRORS[reason] };
}

function isHttpCode(code: ErrorCode): code is HttpCode {
  return Object.hasOwn(HTTP_ERRORS, code);
}

/** The same code of ours covers what this wire tells apart. */
function refine([fault]: readonly Fault[]): A2aReason | undefined {
  if (fault?.code === 'invalid_json' || fault?.code === 'invalid_utf8') return 'PARSE_ERROR';
  return fault?.code === 'schema' ? 'INVALID_PARAMS' : undefined;
}

/** `google.rpc.ErrorInfo` first, then where the request is at fault as `google.rpc.BadRequest`. */
function detailsOf(error: DomainError, { reason }: Spelling): readonly object[] {
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason,
    domain: 'a2a-protocol.org',
    metadata: { code: error.code },
  };
  if (error.faults.length === 0) return [info];
  const fieldViolations = error.faults.map(({ path, message, code }) => ({
    field: path.replace(/^\/input\b/, '/message/parts'),
    description: message,
    reason: code.toUpperCase(),
  }));
  return [info, { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }];
}

/** An error as it is written: the status of its answer, and the body. */
export interface EncodedError {
  readonly http: number;
  readonly body: object;
}

/** In JSON-RPC (A2A 1.0, "JSON-RPC Protocol Binding"): the status tells of HTTP and of our own faults only. */
export function encodeRpcError(error: DomainError, id: unknown): EncodedError {
  const spelling = spell(error);
  const isPlain = isHttpCode(error.code) || error.code === 'internal';
  return {
    http: isPlain ? spelling.http : 200,
    body: {
      jsonrpc: '2.0',
      id: id ?? null,
      error: { code: spelling.rpc, message: error.message, data: detailsOf(error, spelling) },
    },
  };
}

/** In HTTP+JSON (A2A 1.0, "HTTP+JSON/REST Protocol Binding"). */
export function encodeRestError(error: DomainError): EncodedError {
  const spelling = spell(error);
  const { http, status } = spelling;
  return { http, body: { error: { code: http, status, message: error.message, details: detailsOf(error, spelling) } } };
}

/** The same in 0.3, which had no form of its own: the error of JSON-RPC without its envelope. */
export function encodeRestError03(error: DomainError): EncodedError {
  const { rpc, http } = spell(error);
  return { http, body: { code: rpc, message: error.message, data: { code: error.code, errors: error.faults } } };
}
