import type { AnswerHead, AnswerPart, Failure, FinishReason, GatewayNote, ToolCall, Usage } from './answer.js';

/** A whole answer (API reference, "The chat completion object"). */
export interface ChatCompletion extends AnswerHead {
  readonly object: 'chat.completion';
  readonly choices: {
    readonly index: 0;
    readonly message: AssistantAnswer;
    readonly finish_reason: FinishReason;
    readonly logprobs: null;
  }[];
  readonly usage?: Usage;
  readonly gateway?: GatewayNote;
}

/** The message of an answer. `refusal` stays null: helpers take any other for another kind of answer. */
export interface AssistantAnswer {
  readonly role: 'assistant';
  readonly content: string | null;
  readonly refusal: null;
  readonly reasoning_content?: string;
  /** Absent when there are none. */
  readonly tool_calls?: {
    readonly id: string;
    readonly type: 'function';
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

/** Puts the parts of an answer together. */
export class CompletionBuilder {
  private readonly texts: string[] = [];
  private readonly thoughts: string[] = [];
  private readonly calls: ToolCall[] = [];
  private end: Extract<AnswerPart, { kind: 'end' }> | undefined;
  private failed: Failure | undefined;

  constructor(private readonly head: AnswerHead) {}

  add(part: AnswerPart): void {
    switch (part.kind) {
      case 'text':
        this.texts.push(part.text);
        break;
      case 'reasoning':
        this.thoughts.push(part.text);
        break;
      case 'calls':
        this.calls.push(...part.calls);
        break;
      case 'end':
        this.end = part;
        break;
      case 'failure':
        this.failed = part.failure;
        break;
    }
  }

  /** The answer; undefined while its last part is not there. */
  outcome(): ChatCompletion | Failure | undefined {
    if (this.failed) return this.failed;
    return this.end && this.completion(this.end);
  }

  private completion({ finish, usage, gateway }: Extract<AnswerPart, { kind: 'end' }>): ChatCompletion {
    const { id, created, model } = this.head;
    return {
      id,
      object: 'chat.completion',
      created,
      model,
      choices: [{ index: 0, message: this.message(), finish_reason: finish, logprobs: null }],
      ...(usage ? { usage } : {}),
      ...(gateway ? { gateway } : {}),
    };
  }

  private message(): AssistantAnswer {
    const content = this.texts.join('');
    const calls = this.calls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function' as const,
      function: { name, arguments: args },
    }));
    return {
      role: 'assistant',
      content: content === '' && calls.length > 0 ? null : content,
      refusal: null,
      ...(this.thoughts.length > 0 ? { reasoning_content: this.thoughts.join('') } : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    };
  }
}
