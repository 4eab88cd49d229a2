/** The five ways a runner fails. */
export type AdapterErrorKind = 'unavailable' | 'rejected' | 'timeout' | 'protocol' | 'cancelled';

/** Whether the work may have had effects in the world; only `none` may be tried again. */
export type Effects = 'none' | 'possible';

/** What is known of a failure besides its kind. */
export interface AdapterErrorDetails {
  readonly effects: Effects;
  /** With possible effects: where the request was, and what the remote calls it. */
  readonly phase?: 'create' | 'observe';
  readonly remoteReference?: string;
  readonly cause?: unknown;
}

/** What an adapter throws. `message` is stored with the task and shown to callers: no secrets, no internals. */
export class AdapterError extends Error {
  override readonly name = 'AdapterError';

  constructor(
    readonly kind: AdapterErrorKind,
    message: string,
    readonly details: AdapterErrorDetails,
  ) {
    super(message, { cause: details.cause });
  }
}

/** True for what an adapter threw; by name, since realms differ under test. */
export function isAdapterError(error: unknown): error is AdapterError {
  return typeof error === 'object' && error !== null && (error as { name?: unknown }).name === 'AdapterError';
}

/** A budget of the agent was used up; ends the task as `budget_exceeded`. */
export class BudgetError extends Error {
  override readonly name = 'BudgetError';
}
