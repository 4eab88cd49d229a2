/** The member of a task's context that holds a conversation of the caller's. */
export const CALLER_CONVERSATION = 'caller_conversation';

/**
 * What was said around a task's input, as its caller tells it: `before` came first, `after` answers the input (calls that
 * were made for it, and what they gave). A runner that talks goes on from there.
 */
export interface CallerConversation {
  readonly before: readonly CallerMessage[];
  readonly after: readonly CallerMessage[];
}

/** One message of it. */
export type CallerMessage =
  /** For the model to heed, beside its own instructions; only for agents that take instructions of callers. */
  | { readonly role: 'system'; readonly text: string }
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text?: string; readonly tool_calls?: readonly CallerCall[] }
  /** What a call of an assistant message before it gave. */
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly output: unknown };

/** A call that was made in it. `arguments` as JSON. */
export interface CallerCall {
  readonly tool_call_id: string;
  readonly tool_name: string;
  readonly arguments: unknown;
}
