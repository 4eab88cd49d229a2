/** How OpenAI Chat Completions, `/v1/chat/completions` and `/v1/models` is served. */
export interface ChatOptions {
  /** False: no routes, and no trace of them. */
  readonly isEnabled: boolean;
}
