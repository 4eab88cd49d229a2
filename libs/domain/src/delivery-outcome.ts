/** Why an attempt came to nothing; `http`: the answer's status was none of 2xx. */
export const DELIVERY_ERRORS = [
  'http',
  'redirect',
  'refused',
  'unavailable',
  'timeout',
  'too_large',
  'interrupted',
  'disabled',
  'secret',
] as const;
/** One of them. */
export type DeliveryError = (typeof DELIVERY_ERRORS)[number];

/** What an attempt at a delivery came to. */
export interface AttemptOutcome {
  /** Of the answer; absent: there was none. */
  readonly status?: number;
  /** Absent: it was delivered. */
  readonly error?: DeliveryError;
  readonly latencyMs: number;
  /** As the receiver asked (RFC 9110, section 10.2.3). */
  readonly retryAfterMs?: number;
}

/** What is to become of a delivery after an attempt. */
export type DeliveryVerdict =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly delayMs: number }
  /** `endpointGone`: nothing more is to be sent there. */
  | { readonly kind: 'failed'; readonly endpointGone: boolean };

/** A receiver may put off the next attempt by this at most, in ms. */
export const MAX_RETRY_AFTER_MS = 24 * 3_600_000;
/** How much later than its time an attempt may come, as a share of the delay, so that what failed together comes apart. */
const JITTER = 0.2;
const GONE = 410;

/**
 * What follows from an outcome. `tries` is how many attempts there were, this one included; `schedule` the delays after
 * the first, the second and so on, in ms; `chance` in [0, 1).
 */
export function judgeAttempt(
  outcome: AttemptOutcome,
  tries: number,
  { schedule, chance }: { readonly schedule: readonly number[]; readonly chance: number },
): DeliveryVerdict {
  const { error, status, retryAfterMs = 0 } = outcome;
  if (error === undefined) return { kind: 'delivered' };
  if (status === GONE) return { kind: 'failed', endpointGone: true };
  if (error === 'disabled') return { kind: 'failed', endpointGone: false };
  if (error === 'interrupted') return { kind: 'retry', delayMs: 0 };
  const planned = schedule[tries - 1];
  if (planned === undefined) return { kind: 'failed', endpointGone: false };
  const delayMs = Math.max(planned, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)) * (1 + JITTER * chance);
  return { kind: 'retry', delayMs: Math.round(delayMs) };
}

/** The outcome of an attempt that got an answer with this status. */
export function outcomeOfStatus(status: number): Pick<AttemptOutcome, 'status' | 'error'> {
  if (status >= 200 && status < 300) return { status };
  return { status, error: status >= 300 && status < 400 ? 'redirect' : 'http' };
}

/** `Retry-After` in ms from `nowMs` on: seconds, or a date. Undefined when it is neither. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  // What begins otherwise is no HTTP date, though a date to JavaScript.
  const atMs = /^[A-Z][a-z]{2}, \d/.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
