import type { ModelMessage, ToolModelMessage } from 'ai';
import type { UsageBody } from '#lib/domain';
import { type CallerMessages, callerMessages } from './caller-messages.js';
import type { RunContext, RunnerEvent } from '../contract/index.js';
import { type History, remember } from './history.js';
import { addUsage, messagesOfTurn, promptOf, resultOfCall, type TurnCall } from './dialogue.mapping.js';
import { trim } from './trimming.js';
import { type WaitingCall, withAnswer } from './waiting.js';

/** A call of the turn that is under way. Without an outcome it is still open. */
export interface PendingCall {
  /** As the events name it. */
  readonly id: string;
  /** As the model named it. */
  readonly upstreamId: string;
  readonly toolName: string;
  readonly args: unknown;
  /** The call of a lost run that this one makes again, by its first id. */
  readonly repeats?: string;
  readonly outcome?: TurnCall['outcome'];
}

/** What was used up so far, in all runs of the task. */
interface Spent {
  readonly modelCalls: number;
  readonly usage?: UsageBody;
}

/** What was kept from the model. */
interface Omitted {
  /** Characters of the input and of tool outputs. */
  readonly characters: number;
  /** Whole turns, the oldest ones. */
  readonly turns: number;
  /** Exchanges of earlier tasks of the session, the oldest ones. */
  readonly exchanges: number;
}

interface Checkpoint {
  readonly messages: readonly ModelMessage[];
  readonly turn: readonly PendingCall[];
  readonly waiting: readonly WaitingCall[];
  readonly isAnswered: boolean;
  readonly outputs: readonly (readonly [string, unknown])[];
  readonly omitted: Omitted;
  readonly spent: Spent;
}

const NOTHING_TOLD: CallerMessages = { before: [], after: [] };

/** Bounds of a conversation, in characters. */
export interface ConversationLimits {
  /** Of the input shown to the model. */
  readonly input: number;
  /** Of one tool's output shown to the model. */
  readonly output: number;
  /** Of all messages, as JSON. */
  readonly messages: number;
  /** Of what the session's next task is told, as JSON. */
  readonly history: number;
}

/**
 * What a dialogue remembers: the messages of its finished turns, the calls of the one under way, the calls that wait for
 * an answer, and what tools gave.
 */
export class Conversation {
  private readonly turn = new Map<string, PendingCall>();
  readonly outputs: Map<string, unknown>;
  private finished: readonly ModelMessage[];
  private isAnswered: boolean;
  private waitingCalls: readonly WaitingCall[];
  private characters: number;
  private readonly earlierTurns: number;
  private readonly exchanges: number;
  private turns: number;
  private spentSoFar: Spent;

  private constructor(
    { messages, waiting, isAnswered, outputs, omitted, spent }: Omit<Checkpoint, 'turn'>,
    private readonly limits: ConversationLimits,
  ) {
    this.finished = messages;
    this.waitingCalls = waiting;
    this.isAnswered = isAnswered;
    this.outputs = new Map(outputs);
    this.characters = omitted.characters;
    this.earlierTurns = omitted.turns;
    this.exchanges = omitted.exchanges;
    this.turns = omitted.turns;
    this.spentSoFar = spent;
  }

  /** A conversation about the task's input, behind what the session remembers, else what the caller says came before. */
  static begin(
    input: unknown,
    limits: ConversationLimits,
    { conversation, callerConversation }: Pick<RunContext, 'conversation' | 'callerConversation'> = {},
  ): Conversation {
    const told = callerConversation ? callerMessages(callerConversation, limits.output) : NOTHING_TOLD;
    const history = conversation === undefined ? remember(told.before, limits.history) : (conversation as History);
    const { messages, leftOut } = history;
    const { text, omitted: characters } = promptOf(input, limits.input);
    return new Conversation(
      {
        messages: [...messages, { role: 'user', content: text }, ...told.after],
        waiting: [],
        isAnswered: false,
        outputs: [],
        omitted: { characters, turns: 0, exchanges: leftOut },
        spent: { modelCalls: 0 },
      },
      limits,
    );
  }

  /** The conversation an earlier run left, with the calls of its last turn, which `adopt` must be given back. */
  static restore(
    checkpoint: RunContext['checkpoint'],
    limits: ConversationLimits,
  ): { conversation: Conversation; turn: readonly PendingCall[] } {
    const { turn, ...rest } = checkpoint as Checkpoint;
    return { conversation: new Conversation(rest, limits), turn };
  }

  get messages(): ModelMessage[] {
    return [...this.finished];
  }

  /** The waiting calls that the answer lets the framework make. */
  get approved(): readonly WaitingCall[] {
    const last = this.finished.at(-1);
    if (last?.role !== 'tool') return [];
    const approvals = new Set(
      last.content.flatMap((part) => (part.type === 'tool-approval-response' && part.approved ? part.approvalId : [])),
    );
    return this.waitingCalls.filter(({ approvalId = '' }) => approvals.has(approvalId));
  }

  get omitted(): Omitted {
    return { characters: this.characters, turns: this.turns, exchanges: this.exchanges };
  }

  get spent(): Spent {
    return this.spentSoFar;
  }

  omit(characters: number): void {
    this.characters += characters;
  }

  /** Counts one call of the model. */
  spend(usage: UsageBody | undefined): void {
    const total = addUsage(this.spentSoFar.usage, usage);
    this.spentSoFar = { modelCalls: this.spentSoFar.modelCalls + 1, ...(total ? { usage: total } : {}) };
  }

  /** Records a call of the turn, or its outcome. */
  note(call: PendingCall): void {
    this.turn.set(call.id, call);
  }

  /** The turn ended; `messages`, as the framework tells them, hold it. `waiting`: calls it ended with, still to be answered. */
  endTurn(messages: readonly ModelMessage[], waiting: readonly WaitingCall[] = []): void {
    const { messages: kept, turns } = trim(messages, this.limits.messages);
    this.finished = kept;
    // The framework tells all messages since this run began, each time.
    this.turns = this.earlierTurns + turns;
    this.waitingCalls = waiting;
    this.isAnswered = false;
    this.turn.clear();
  }

  /** Puts the answer behind the calls that wait for it, once. Tells what became of client-side calls. */
  takeAnswer(answer: RunContext['answer']): readonly RunnerEvent[] {
    if (this.waitingCalls.length === 0 || this.isAnswered) return [];
    const answered = withAnswer(this.finished, this.waitingCalls, { answer, limit: this.limits.output });
    this.finished = answered.messages;
    this.characters += answered.omitted;
    this.isAnswered = true;
    return answered.events;
  }

  /** Takes the calls of a turn that a lost run did not end into the messages. */
  adopt(calls: readonly TurnCall[]): void {
    const last = this.finished.at(-1);
    this.turn.clear();
    if (last?.role !== 'tool' || !last.content.some(({ type }) => type === 'tool-approval-response')) {
      this.finished = [...this.finished, ...messagesOfTurn(calls)];
      return;
    }
    // They were approved: a result beside the approval keeps the framework from making the call.
    const content: ToolModelMessage['content'] = [...last.content, ...calls.map(resultOfCall)];
    this.finished = [...this.finished.slice(0, -1), { ...last, content }];
  }

  /** What the session remembers when the conversation ends with these messages. */
  history(messages: readonly ModelMessage[]): History {
    return remember(messages, this.limits.history, this.exchanges);
  }

  /** JSON, small: the input is in it as far as the model sees it. */
  checkpoint(): unknown {
    return {
      messages: this.finished,
      turn: [...this.turn.values()],
      waiting: this.waitingCalls,
      isAnswered: this.isAnswered,
      outputs: [...this.outputs],
      omitted: this.omitted,
      spent: this.spentSoFar,
    } satisfies Checkpoint;
  }
}
