import type { ClientToolMode, OnInterrupt } from '#lib/domain';

/** How OpenAI Chat Completions, `/v1/chat/completions` and `/v1/models` is served. */
export interface ChatOptions {
  /** False: no routes, and no trace of them. */
  readonly isEnabled: boolean;
  /** What becomes of calls that have to be approved, where the agent does not say. */
  readonly onInterrupt: OnInterrupt;
  /** How tools of the client meet the agent's. */
  readonly toolMode: ClientToolMode;
  /** What becomes of a task whose client has left before its answer. */
  readonly onDisconnect: 'cancel' | 'detach';
  /** How long such a client may take to come back. */
  readonly graceMs: number;
  /** How long an answer that is no stream may take: clients give up after 300 s without headers, and ask again. */
  readonly maxWaitMs: number;
  /** Whether a request that says it is repeated gets the task of the one before. */
  readonly attachesRetries: boolean;
}

/** What official clients send from web pages beside what every caller may. */
const CLIENT_HEADERS = [
  'OpenAI-Organization',
  'OpenAI-Project',
  'X-Stainless-Arch',
  'X-Stainless-Helper-Method',
  'X-Stainless-Lang',
  'X-Stainless-OS',
  'X-Stainless-Package-Version',
  'X-Stainless-Poll-Helper',
  'X-Stainless-Retry-Count',
  'X-Stainless-Runtime',
  'X-Stainless-Runtime-Version',
  'X-Stainless-Timeout',
];

/** Fields of requests that pages of allowed origins may set. */
export function clientHeadersOf({ isEnabled }: ChatOptions): readonly string[] {
  return isEnabled ? CLIENT_HEADERS : [];
}
