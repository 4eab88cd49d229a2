/** Why an answer ends (API reference, "The chat completion object", `finish_reason`), as far as an agent can tell. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** A call the client is to make. `arguments` is JSON text, also when there are none. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** Token counts of the model calls of an answer (API reference, `usage`). */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** The members of an error (API guide, "Error codes"); all four are always there. */
export interface ChatError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** An error with the status it has where nothing was sent yet. */
export interface Failure {
  readonly status: number;
  readonly error: ChatError;
}

/** What an answer is made of, in the order it is told. `end` or `failure` comes last, once. */
export type AnswerPart =
  | { readonly kind: 'text'; readonly text: string }
  /** Thoughts: no part of the reference, but spoken by many as `reasoning_content`. */
  | { readonly kind: 'reasoning'; readonly text: string }
  | { readonly kind: 'calls'; readonly calls: readonly ToolCall[] }
  | { readonly kind: 'end'; readonly finish: FinishReason; readonly usage?: Usage; readonly gateway?: GatewayNote }
  | { readonly kind: 'failure'; readonly failure: Failure };

/** What the reference has no word for, in one member that clients pass over. */
export type GatewayNote = Readonly<Record<string, unknown>>;

/** What all chunks of an answer have in common. `created` in whole seconds. */
export interface AnswerHead {
  readonly id: string;
  readonly created: number;
  /** As it was asked for. */
  readonly model: string;
}
