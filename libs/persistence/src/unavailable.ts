import { DomainError, isUnavailableError, UnavailableError } from '#lib/domain';

/** How long a statement may take, in ms: a database that has fallen silent must not hold a request for ever. */
export const STATEMENT_MS = 10_000;

/** SQLSTATE classes that speak of the connection or the server, not of the statement: the same statement may work again. 25006: the server takes no writes, as after a failover. */
const TRANSIENT = /^(08|40|53|57|25006)/;
const SOCKET_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOTFOUND', 'ETIMEDOUT', 'ENOENT', 'EAI_AGAIN']);
/** What pg says in words alone. */
const PG_MESSAGES = /terminated|timeout exceeded|read timeout|not queryable/i;

/** True when the database could not be reached or gave up: retry, nothing is wrong with the statement. */
function isTransient(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === 'string') return TRANSIENT.test(code) || SOCKET_CODES.has(code);
  return typeof message === 'string' && PG_MESSAGES.test(message);
}

/** SQLSTATE of a text with U+0000, which Postgres has no place for. */
const UNSTORABLE = '22021';

/**
 * `error`, or what it means: UnavailableError when the database cannot be worked with at the moment, DomainError
 * `invalid_request` for a text that no statement takes, whichever way it came past the checks in front.
 */
export function asKnownError(error: unknown): unknown {
  if ((error as { code?: unknown }).code === UNSTORABLE)
    return new DomainError('invalid_request', 'A text holds U+0000, which cannot be stored or looked for.', {
      cause: error,
    });
  if (isUnavailableError(error) || !isTransient(error)) return error;
  return new UnavailableError('The database cannot be reached at the moment.', { cause: error });
}

/** What `work` resolves to. @throws UnavailableError when the database cannot be worked with at the moment. */
export async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw asKnownError(error);
  }
}
