import { AdapterError, isAdapterError, type AdapterErrorKind, type Effects } from '../contract/index.js';

/** Errors of the framework by name, without its prefix `AI_`. What is not listed broke the model's contract. */
const KINDS: Readonly<Record<string, AdapterErrorKind>> = {
  LoadAPIKeyError: 'rejected',
  InvalidPromptError: 'rejected',
  NoSuchModelError: 'rejected',
  UnsupportedFunctionalityError: 'rejected',
};
const SOCKET_CODES =
  /^(?:ECONN|ENOTFOUND|EAI_|EPIPE|EHOSTUNREACH|ENETUNREACH|UND_ERR_SOCKET|UND_ERR_CLOSED|UND_ERR_ABORTED)/;
const TIMEOUT_CODES = /^(?:ETIMEDOUT|UND_ERR_\w*TIMEOUT)/;

const MESSAGES: Record<AdapterErrorKind, string> = {
  unavailable: 'The model endpoint could not be reached.',
  rejected: 'The model endpoint refused the request.',
  timeout: 'The model endpoint did not answer in time.',
  protocol: 'The model endpoint broke its contract.',
  cancelled: 'The run was cancelled.',
};

interface Described {
  readonly kind: AdapterErrorKind;
  readonly message: string;
}

/**
 * What went wrong, in our words: messages of an endpoint may quote credentials. `effects` says whether a tool may have
 * changed the world since the last checkpoint; a model call by itself never does.
 */
export function toAdapterError(error: unknown, effects: Effects): AdapterError {
  if (isAdapterError(error)) return error;
  const { kind, message } = describe(error);
  return createAdapterError(kind, effects, { message, cause: error });
}

/** An error of this runner's own. */
export function createAdapterError(
  kind: AdapterErrorKind,
  effects: Effects,
  { message = MESSAGES[kind], cause }: { readonly message?: string; readonly cause?: unknown } = {},
): AdapterError {
  return new AdapterError(kind, message, { effects, cause, ...(effects === 'possible' ? { phase: 'observe' } : {}) });
}

function describe(error: unknown): Described {
  const status = fieldOf(error, 'statusCode');
  if (typeof status === 'number' && status >= 400) {
    return { kind: kindOfStatus(status), message: `The model endpoint answered ${status}.` };
  }
  // In the middle of a stream an endpoint reports its own failure, as plain JSON.
  if (nameOf(error) === '') return { kind: 'unavailable', message: 'The model endpoint reported a failure.' };
  const kind = kindOfCode(error) ?? KINDS[nameOf(error).replace(/^AI_/, '')] ?? 'protocol';
  return { kind, message: MESSAGES[kind] };
}

function kindOfStatus(status: number): AdapterErrorKind {
  if (status === 408 || status === 504) return 'timeout';
  return status === 429 || status >= 500 ? 'unavailable' : 'rejected';
}

/** By the codes of the error and its causes; Node wraps what happened to a socket several times. */
function kindOfCode(error: unknown): AdapterErrorKind | undefined {
  for (let at = error, depth = 0; at !== undefined && at !== null && depth < 6; depth += 1) {
    const code = fieldOf(at, 'code');
    if (typeof code === 'string' && TIMEOUT_CODES.test(code)) return 'timeout';
    if (typeof code === 'string' && SOCKET_CODES.test(code)) return 'unavailable';
    at = fieldOf(at, 'cause');
  }
  return undefined;
}

function nameOf(error: unknown): string {
  const name = fieldOf(error, 'name');
  return typeof name === 'string' ? name : '';
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[field] : undefined;
}
