import { type AdapterErrorKind, isAdapterError } from '#lib/adapters/contract';
import {
  type Claim,
  type Dispatch,
  type ErrorBody,
  type FailureCode,
  FAILURES,
  isUnavailableError,
  type Payload,
  type RunPolicy,
} from '#lib/domain';
import { isProtocolError, mayRunAgain } from '#lib/execution';
import { isWorkspaceFull } from './workspaces.js';

/** What becomes of a run that failed. */
export type Verdict =
  | { readonly kind: 'retry'; readonly dispatch: Dispatch }
  | { readonly kind: 'fail'; readonly error: ErrorBody; readonly details?: FailureDetails };

/** Where a request was when it failed, and what the remote calls it. */
export type FailureDetails = Pick<Payload<'task.failed'>, 'phase' | 'remote_reference'>;

const CODES: Readonly<Record<AdapterErrorKind, FailureCode>> = {
  unavailable: 'backend_unavailable',
  rejected: 'rejected',
  timeout: 'timeout',
  protocol: 'protocol',
  // A runner that gives up though nobody asked it to has not kept its contract.
  cancelled: 'protocol',
};

/**
 * A run that finds a service of ours away, as storage may be, is given up; the next one goes on. Whatever the agent says
 * of its backend, this bears some minutes.
 */
const OUTAGE: RunPolicy['retries'] = { attempts: 8, firstDelaySeconds: 5, maxDelaySeconds: 60 };

/** Units of UTF-16 of a message that is stored. */
const MESSAGE_LENGTH = 1_000;
/** Units of UTF-16 of a remote's name for its work. */
const REFERENCE_LENGTH = 200;

/**
 * Judges what a runner threw. Only an adapter that says nothing can have happened is tried again: nobody is made to do
 * twice what may have been done.
 */
export function judge(error: unknown, claim: Claim, runner: { readonly canResume: boolean }): Verdict {
  if (isAdapterError(error)) {
    const { effects, phase, remoteReference } = error.details;
    if (effects === 'possible') {
      const reference = remoteReference?.slice(0, REFERENCE_LENGTH);
      const shown = reference === undefined ? '' : ` (remote reference: ${reference})`;
      const message = `${error.message.slice(0, MESSAGE_LENGTH - shown.length)}${shown}`;
      return fail('outcome_unknown', message, { phase, remote_reference: reference });
    }
    const body = errorBody(CODES[error.kind], error.message);
    return again(claim, body, claim.policy.retries);
  }
  if (isUnavailableError(error)) {
    const body = errorBody('internal', error.message);
    return mayRunAgain(claim.policy, runner) ? again(claim, body, OUTAGE) : { kind: 'fail', error: body };
  }
  if (isProtocolError(error)) return fail('protocol', error.message);
  if (isWorkspaceFull(error)) return fail('budget_exceeded', error.message);
  if ((error as { name?: unknown } | null)?.name === 'BudgetError') {
    return fail('budget_exceeded', (error as Error).message);
  }
  return fail('internal', FAILURES.internal);
}

export function errorBody(code: FailureCode, message: string = FAILURES[code]): ErrorBody {
  return { code, message: message.slice(0, MESSAGE_LENGTH) };
}

function fail(code: FailureCode, message: string, details?: FailureDetails): Verdict {
  return { kind: 'fail', error: errorBody(code, message), details };
}

function again({ runNo, attempt }: Claim, error: ErrorBody, retries: RunPolicy['retries']): Verdict {
  if (attempt >= retries.attempts) return { kind: 'fail', error };
  const delaySeconds = Math.min(retries.firstDelaySeconds * 2 ** (attempt - 1), retries.maxDelaySeconds);
  const delayMs = delaySeconds * 1_000;
  return { kind: 'retry', dispatch: { runNo: runNo + 1, reason: 'error', delayMs, attempt: attempt + 1, error } };
}
