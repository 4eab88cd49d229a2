import type { OnInterrupt } from '#lib/domain';

/** How OpenAI Chat Completions, `/v1/chat/completions` and `/v1/models` is served. */
export interface ChatOptions {
  /** False: no routes, and no trace of them. */
  readonly isEnabled: boolean;
  /** What becomes of calls that have to be approved, where the agent does not say. */
  readonly onInterrupt: OnInterrupt;
  /** What becomes of a task whose client has left before its answer. */
  readonly onDisconnect: 'cancel' | 'detach';
  /** How long such a client may take to come back. */
  readonly graceMs: number;
  /** How long an answer that is no stream may take: clients give up after 300 s without headers, and ask again. */
  readonly maxWaitMs: number;
  /** Whether a request that says it is repeated gets the task of the one before. */
  readonly attachesRetries: boolean;
}
