import type { ModelMessage } from 'ai';
import type { RunContext } from '../contract/index.js';
import { messagesOfTurn, promptOf, type TurnCall } from './dialogue.mapping.js';

/** A call of the turn that is under way. Without an outcome it is still open. */
export interface PendingCall {
  /** As the events name it. */
  readonly id: string;
  /** As the model named it. */
  readonly upstreamId: string;
  readonly toolName: string;
  readonly args: unknown;
  readonly outcome?: TurnCall['outcome'];
}

interface Checkpoint {
  readonly messages: readonly ModelMessage[];
  readonly turn: readonly PendingCall[];
  readonly outputs: readonly (readonly [string, unknown])[];
  readonly omitted: number;
}

/** What a dialogue remembers: the messages of its finished turns, the calls of the one under way, and what tools gave. */
export class Conversation {
  private readonly turn = new Map<string, PendingCall>();
  readonly outputs: Map<string, unknown>;

  private constructor(
    private finished: readonly ModelMessage[],
    outputs: readonly (readonly [string, unknown])[],
    private omittedCharacters: number,
  ) {
    this.outputs = new Map(outputs);
  }

  /** A new conversation about the task's input. */
  static begin(input: unknown, limit: number): Conversation {
    const { text, omitted } = promptOf(input, limit);
    return new Conversation([{ role: 'user', content: text }], [], omitted);
  }

  /** The conversation an earlier run left, with the calls of its last turn, which `adopt` must be given back. */
  static restore(checkpoint: RunContext['checkpoint']): { conversation: Conversation; turn: readonly PendingCall[] } {
    const { messages, turn, outputs, omitted } = checkpoint as Checkpoint;
    return { conversation: new Conversation(messages, outputs, omitted), turn };
  }

  get messages(): ModelMessage[] {
    return [...this.finished];
  }

  /** Characters of input and tool outputs that were kept from the model. */
  get omitted(): number {
    return this.omittedCharacters;
  }

  omit(characters: number): void {
    this.omittedCharacters += characters;
  }

  /** Records a call of the turn, or its outcome. */
  note(call: PendingCall): void {
    this.turn.set(call.id, call);
  }

  /** The turn ended; from here on the framework's messages hold it. */
  endTurn(messages: readonly ModelMessage[]): void {
    this.finished = messages;
    this.turn.clear();
  }

  /** Takes the calls of a turn that a lost run did not end into the messages. */
  adopt(calls: readonly TurnCall[]): void {
    this.endTurn([...this.finished, ...messagesOfTurn(calls)]);
  }

  /** JSON, small: the input is in it as far as the model sees it. */
  checkpoint(): unknown {
    const { finished: messages, omittedCharacters: omitted } = this;
    return { messages, turn: [...this.turn.values()], outputs: [...this.outputs], omitted } satisfies Checkpoint;
  }
}
