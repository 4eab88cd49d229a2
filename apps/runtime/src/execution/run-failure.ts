import { type AdapterErrorKind, isAdapterError } from '#lib/adapters/contract';
import { type Claim, type Dispatch, type ErrorBody, type FailureCode, FAILURES, type Payload } from '#lib/domain';
import { isProtocolError } from '#lib/execution';
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

/** Units of UTF-16 of a message that is stored. */
const MESSAGE_LENGTH = 1_000;
/** Units of UTF-16 of a remote's name for its work. */
const REFERENCE_LENGTH = 200;

/**
 * Judges what a runner threw. Only an adapter that says nothing can have happened is tried again: nobody is made to do
 * twice what may have been done.
 */
export function judge(error: unknown, claim: Claim): Verdict {
  if (isAdapterError(error)) {
    const { effects, phase, remoteReference } = error.details;
    if (effects === 'possible') {
      const reference = remoteReference?.slice(0, REFERENCE_LENGTH);
      const shown = reference === undefined ? '' : ` (remote reference: ${reference})`;
      const message = `${error.message.slice(0, MESSAGE_LENGTH - shown.length)}${shown}`;
      return fail('outcome_unknown', message, { phase, remote_reference: reference });
    }
    const body = errorBody(CODES[error.kind], error.message);
    if (claim.attempt < claim.policy.retries.attempts) return { kind: 'retry', dispatch: nextAttempt(claim, body) };
    return { kind: 'fail', error: body };
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

function nextAttempt({ runNo, attempt, policy: { retries } }: Claim, error: ErrorBody): Dispatch {
  const delaySeconds = Math.min(retries.firstDelaySeconds * 2 ** (attempt - 1), retries.maxDelaySeconds);
  return { runNo: runNo + 1, reason: 'error', delayMs: delaySeconds * 1_000, attempt: attempt + 1, error };
}
