import type { ConfirmationState } from '#lib/protocol/a2a';

/** How A2A 1.0 and 0.3, `/a2a` is served. */
export interface A2aOptions {
  /** False: no routes, and no trace of them. */
  readonly isEnabled: boolean;
  /** How long a client that asks for it is kept waiting for the outcome, in ms. */
  readonly blockingMs: number;
  readonly confirmationState: ConfirmationState;
}
