import { isOutboundError, ToolError } from '#lib/domain';
import type { Breaker } from './breaker.js';
import type { ToolCall } from './contract/tool.js';

/** What a call of a tool outside is made under. */
export interface CallTerms {
  readonly name: string;
  readonly timeoutMs: number;
  readonly breaker: Breaker;
  /** Takes secrets out of a text. */
  readonly hide: (text: string) => string;
}

/** Statuses that say more of the server than of the request. */
const OUTAGES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/** A tool's answer that says it is in no state to answer. */
export class OutageError extends ToolError {
  readonly isOutage = true;
}

/** True for a status that counts against the tool. */
export function isOutageStatus(status: number): boolean {
  return OUTAGES.has(status);
}

/**
 * Makes one call outside: within its time, not while the tool is spared, and with what goes wrong told in words that
 * hold no secret and nothing of our network.
 * @throws ToolError, or the signal's reason when the run is over
 */
export async function guardedCall<T>(
  { name, timeoutMs, breaker, hide }: CallTerms,
  call: ToolCall,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  call.signal.throwIfAborted();
  const late = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([call.signal, late]);
  const told = async (): Promise<T> => {
    try {
      return await abandonable(work(signal), signal);
    } catch (error) {
      if (call.signal.aborted) throw call.signal.reason;
      throw asToolError(error, { name, hide, isLate: late.aborted, timeoutMs });
    }
  };
  return breaker.run(told, isOutage);
}

/** A tool that ignores the end of its time is left behind. */
function abandonable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
    if (signal.aborted) leave();
  });
}

function isOutage(error: unknown): boolean {
  const { name, code, isOutage: isSaid } = error as Partial<OutageError>;
  return name === 'ToolError' && (code === 'timeout' || isSaid === true);
}

interface Telling {
  readonly name: string;
  readonly hide: (text: string) => string;
  readonly isLate: boolean;
  readonly timeoutMs: number;
}

function asToolError(error: unknown, { name, hide, isLate, timeoutMs }: Telling): unknown {
  if ((error as { name?: unknown }).name === 'ToolError') return error;
  if (isLate || (isOutboundError(error) && error.code === 'timeout')) {
    return new ToolError('timeout', `${name} did not answer within ${timeoutMs / 1_000} s.`, { cause: error });
  }
  if (isOutboundError(error) && error.code === 'refused') {
    return new ToolError('failed', `${name} cannot be called: its address is not one that may be reached.`, {
      cause: error,
    });
  }
  if (isOutboundError(error) && error.code === 'too_large') {
    return new ToolError('failed', `The answer of ${name} is larger than it may be.`, { cause: error });
  }
  if (isOutboundError(error)) return new OutageError('failed', `${name} could not be reached.`, { cause: error });
  return new OutageError('failed', hide(`${name} failed.`), { cause: error });
}
