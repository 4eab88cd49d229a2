import type { Detail } from '#lib/domain';
import type { RunnerEvent } from '../contract/index.js';
import { privateEvent, usageOf, type Part } from './dialogue.mapping.js';

type Handler<T extends Part['type']> = (part: Extract<Part, { type: T }>) => RunnerEvent[];

/** The last turn's message: the final answer, unless another turn follows. */
export interface Answer {
  readonly text: string;
  readonly messageId: string | undefined;
}

/** Tells a run's stream as events, as far as the task's detail wants them. One turn of the model is one message. */
export class Narration {
  private messages = 0;
  private messageId: string | undefined;
  private text = '';
  private lastText = '';
  private readonly thinking = new Map<string, { readonly messageId: string; text: string }>();

  constructor(
    private readonly detail: Detail,
    private readonly runNo: number,
    private readonly model: string,
    private readonly toolCallId: (upstreamId: string) => string,
  ) {}

  take(part: Part): RunnerEvent[] {
    const handler = this.handlers[part.type] as Handler<Part['type']> | undefined;
    const events = handler?.(part) ?? [];
    const framework = this.detail === 'verbose' ? privateEvent(part) : undefined;
    if (framework !== undefined) {
      events.push({ type: 'agent.event', payload: { framework: 'ai-sdk', event: framework } });
    }
    return this.detail === 'status' ? [] : events;
  }

  /** The run ends without a final answer: the message of its last turn is complete. */
  close(): RunnerEvent[] {
    const events = this.completeMessage();
    return this.detail === 'status' ? [] : events;
  }

  /** The conversation was over its bound. */
  trimmed(turns: number): RunnerEvent[] {
    if (this.detail !== 'verbose') return [];
    return [{ type: 'agent.event', payload: { framework: 'ai-sdk', event: { type: 'conversation-trimmed', turns } } }];
  }

  answer(): Answer {
    const messageId = this.detail === 'status' ? undefined : this.messageId;
    return { text: this.text === '' ? this.lastText : this.text, messageId };
  }

  private readonly handlers: { readonly [T in Part['type']]?: Handler<T> } = {
    'start-step': () => this.completeMessage(),
    'text-start': () => this.openMessage(),
    'text-delta': ({ text }) => this.addText(text),
    'reasoning-start': ({ id }) => {
      const messageId = this.nextId('think');
      this.thinking.set(id, { messageId, text: '' });
      return [{ type: 'thinking.started', payload: { message_id: messageId } }];
    },
    'reasoning-delta': ({ id, text }) => this.addThought(id, text),
    'reasoning-end': ({ id }) => this.completeThought(id),
    'tool-input-delta': ({ id, delta }) => this.argumentsDelta(id, delta),
    'finish-step': ({ usage }) => {
      const counts = usageOf(usage);
      if (!counts || this.detail !== 'verbose') return [];
      return [{ type: 'model.usage', payload: { model: this.model, usage: counts } }];
    },
  };

  private nextId(prefix: string): string {
    this.messages += 1;
    return `${prefix}_${this.runNo}_${this.messages}`;
  }

  private openMessage(): RunnerEvent[] {
    if (this.messageId !== undefined) return this.addText('\n\n');
    this.messageId = this.nextId('msg');
    return [{ type: 'message.started', payload: { message_id: this.messageId, role: 'assistant' } }];
  }

  private addText(text: string): RunnerEvent[] {
    this.text += text;
    const messageId = this.messageId;
    if (messageId === undefined) return [];
    return [{ type: 'message.delta', payload: { message_id: messageId, text } }];
  }

  /** Another turn follows, so the message was not the final one. */
  private completeMessage(): RunnerEvent[] {
    const { messageId, text } = this;
    if (text !== '') this.lastText = text;
    this.text = '';
    this.messageId = undefined;
    if (messageId === undefined) return [];
    return [{ type: 'message.completed', payload: { message_id: messageId, role: 'assistant', text } }];
  }

  private addThought(id: string, text: string): RunnerEvent[] {
    const thought = this.thinking.get(id);
    if (!thought) return [];
    thought.text += text;
    return [{ type: 'thinking.delta', payload: { message_id: thought.messageId, text } }];
  }

  private completeThought(id: string): RunnerEvent[] {
    const thought = this.thinking.get(id);
    if (!thought) return [];
    this.thinking.delete(id);
    return [{ type: 'thinking.completed', payload: { message_id: thought.messageId, text: thought.text } }];
  }

  private argumentsDelta(id: string, delta: string): RunnerEvent[] {
    if (this.detail !== 'verbose') return [];
    return [{ type: 'tool.arguments.delta', payload: { tool_call_id: this.toolCallId(id), text: delta } }];
  }
}
