import type { EventType, LoggedEvent, Payload, UsageBody } from '#lib/domain';
import type { AnswerPart, FinishReason, Usage } from '#lib/protocol/openai-chat';

/** A message under way: what of it was told, or is kept until it is complete. */
interface Begun {
  told: number;
  text: string;
}

type Telling<T extends EventType> = (payload: Payload<T>) => readonly AnswerPart[];

const NOTHING: readonly AnswerPart[] = [];

/** Tells what the agent says; tools, steps and their like are not the client's to see. */
export class Narration {
  private readonly begun = new Map<string, Begun>();
  private last: string | undefined;
  private final: { readonly id: string; readonly text: string } | undefined;
  private spent: UsageBody | undefined;

  constructor(
    /** Pieces are told as they come; else messages once they are complete, none that a lost run has left unfinished. */
    private readonly isLive: boolean,
    private readonly showsThoughts: boolean,
  ) {}

  take({ type, payload }: LoggedEvent): readonly AnswerPart[] {
    const telling = this.tellings[type] as Telling<EventType> | undefined;
    return telling?.(payload) ?? NOTHING;
  }

  private readonly tellings: { readonly [T in EventType]?: Telling<T> } = {
    'message.started': ({ role, message_id }) => {
      if (role === 'assistant') this.begun.set(message_id, { told: 0, text: '' });
      return NOTHING;
    },
    'message.delta': ({ message_id, text }) => this.addPiece(message_id, text),
    'message.completed': ({ role, message_id, text, final }) => {
      if (role !== 'assistant') return NOTHING;
      if (final !== true) return this.complete(message_id, text);
      this.final = { id: message_id, text };
      return NOTHING;
    },
    'thinking.delta': ({ text }) => (this.showsThoughts ? [{ kind: 'reasoning', text }] : NOTHING),
    'task.retrying': () => {
      this.begun.clear();
      // What the next run says begins anew, whatever it calls it.
      if (this.last !== undefined) this.last = '';
      return NOTHING;
    },
    'model.usage': ({ usage }) => {
      this.spent = add(this.spent, usage);
      return NOTHING;
    },
  };

  /** True when all there is of the answer is what its last event says, which may be the beginning only. */
  get isUntold(): boolean {
    const begun = this.final && this.begun.get(this.final.id);
    return this.final !== undefined && (begun === undefined || (begun.told === 0 && begun.text === ''));
  }

  /** The end of the answer; `whole`: its text, where the events do not hold all of it. */
  conclude(whole?: string): readonly AnswerPart[] {
    return this.final ? this.complete(this.final.id, whole ?? this.final.text) : NOTHING;
  }

  /** Of the calls of a model that were told, else what the task says of all of them. */
  usage(ofTask: UsageBody | undefined): Usage | undefined {
    const usage = this.spent ?? ofTask;
    if (!usage) return undefined;
    const { input_tokens, output_tokens } = usage;
    return {
      prompt_tokens: input_tokens,
      completion_tokens: output_tokens,
      total_tokens: input_tokens + output_tokens,
    };
  }

  /** Of a message whose beginning was not seen nothing is told before it is complete. */
  private addPiece(id: string, text: string): readonly AnswerPart[] {
    const message = this.begun.get(id);
    if (!message) return NOTHING;
    if (this.isLive) {
      message.told += text.length;
      return this.tell(id, text);
    }
    message.text += text;
    return NOTHING;
  }

  /** A text that is too long for an event stands in the last one by its beginning only: then the pieces have more of it. */
  private complete(id: string, text: string): readonly AnswerPart[] {
    const { told, text: pieces } = this.begun.get(id) ?? { told: 0, text: '' };
    this.begun.delete(id);
    const whole = pieces.length > text.length ? pieces : text;
    return this.tell(id, whole.slice(told));
  }

  private tell(id: string, text: string): readonly AnswerPart[] {
    if (text === '') return NOTHING;
    const gap = this.last === undefined || this.last === id ? '' : '\n\n';
    this.last = id;
    return [{ kind: 'text', text: gap + text }];
  }
}

/** Why a task that succeeded has said no more. */
export function finishOf(metadata: Readonly<Record<string, unknown>>): FinishReason {
  const { finish_reason } = metadata;
  return finish_reason === 'length' || finish_reason === 'content_filter' ? finish_reason : 'stop';
}

function add(a: UsageBody | undefined, b: UsageBody): UsageBody {
  if (!a) return b;
  return { input_tokens: a.input_tokens + b.input_tokens, output_tokens: a.output_tokens + b.output_tokens };
}
