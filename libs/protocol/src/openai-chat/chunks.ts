import type { AnswerHead, AnswerPart, ChatError, FinishReason, GatewayNote, ToolCall, Usage } from './answer.js';

/** A piece of a call (API reference, "The chat completion chunk object", `delta.tool_calls`). */
export interface ToolCallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: 'function';
  readonly function: { readonly name?: string; readonly arguments: string };
}

/** What a chunk adds. */
export interface Delta {
  readonly role?: 'assistant';
  readonly content?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: ToolCallDelta[];
}

/** A chunk of a streamed answer (API reference, "The chat completion chunk object"). */
export interface ChatCompletionChunk extends AnswerHead {
  readonly object: 'chat.completion.chunk';
  readonly choices: {
    readonly index: 0;
    readonly delta: Delta;
    readonly finish_reason: FinishReason | null;
    readonly logprobs: null;
  }[];
  readonly usage?: Usage | null;
  readonly gateway?: GatewayNote;
}

/** The frame that ends a stream that is complete. */
export const DONE = 'data: [DONE]\n\n';

/** An error in a stream: the one thing beside chunks that may stand in it. Nothing follows it. */
export function encodeErrorFrame(error: ChatError): string {
  return frame({ error });
}

/** Spells one answer as frames of a stream. */
export class ChunkEncoder {
  private calls = 0;

  constructor(
    private readonly head: AnswerHead,
    /** `stream_options.include_usage`: then every chunk but the one that tells has `usage: null`. */
    private readonly includesUsage: boolean,
  ) {}

  /** The first chunk: helpers of clients refuse a stream that begins without a role. */
  begin(): string {
    return this.chunk({ role: 'assistant', content: '' });
  }

  /** The frames of one part; after `end` the stream is complete, after `failure` it is over. */
  encode(part: AnswerPart): string {
    switch (part.kind) {
      case 'text':
        return this.chunk({ content: part.text });
      case 'reasoning':
        return this.chunk({ reasoning_content: part.text });
      case 'calls':
        return part.calls.map((call) => this.call(call)).join('');
      case 'end':
        return this.end(part);
      case 'failure':
        return encodeErrorFrame(part.failure.error);
    }
  }

  /** Clients put calls together by `index`, and tell them apart by nothing else. */
  private call({ id, name, arguments: args }: ToolCall): string {
    const index = this.calls;
    this.calls += 1;
    const begun = { index, id, type: 'function', function: { name, arguments: '' } } as const;
    return this.chunk({ tool_calls: [begun] }) + this.chunk({ tool_calls: [{ index, function: { arguments: args } }] });
  }

  private end({ finish, usage, gateway }: Extract<AnswerPart, { kind: 'end' }>): string {
    const last = this.chunk({}, finish, gateway);
    const told = this.includesUsage && usage ? frame({ ...this.envelope([]), usage }) : '';
    return last + told + DONE;
  }

  private chunk(delta: Delta, finish_reason: FinishReason | null = null, gateway?: GatewayNote): string {
    const { includesUsage } = this;
    return frame({
      ...this.envelope([{ index: 0, delta, finish_reason, logprobs: null }]),
      ...(includesUsage ? { usage: null } : {}),
      ...(gateway ? { gateway } : {}),
    });
  }

  private envelope(choices: ChatCompletionChunk['choices']): ChatCompletionChunk {
    const { id, created, model } = this.head;
    return { id, object: 'chat.completion.chunk', created, model, choices };
  }
}

/** No name of an event: helpers take whatever has one for no chunk. */
function frame(data: ChatCompletionChunk | { readonly error: ChatError }): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
