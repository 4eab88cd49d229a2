import type { ConfirmationBody, Detail, EventType, Payload } from '#lib/domain';
import type { AgentEvent } from './agent-event.js';
import type { RemoteEventType, RemoteFields } from './remote-event.js';

/** An event of the wire before it is numbered: `at` is its place, from 0 to 7, among those of one event of the log. */
export interface Piece extends RemoteFields {
  readonly at: number;
  readonly type: RemoteEventType;
  /** The agent's own event behind it; absent on those the server makes. */
  readonly source?: AgentEvent;
}

/** How an event of the log is spelt; none: the wire has no words for it. */
export type Rule<T extends EventType> = (payload: Payload<T>, scene: Scene) => readonly Piece[];

/** One rule for each of these types. */
export type Rules<T extends EventType = EventType> = { readonly [K in T]: Rule<K> };

/** A message or a thought that is being told. */
export interface Block {
  /** False: it is not the agent's, and not shown. */
  readonly isShown: boolean;
  isSpoken: boolean;
}

/** A call as far as it was told. */
export interface ShownCall {
  readonly name: string | undefined;
  hasOutput: boolean;
}

/** Blocks or calls that are open at once: of more the oldest are forgotten, and told again if they go on. */
const MAX_OPEN = 1_000;

/** Keeps what a runner may never end, without end. */
export function remember<T>(open: Map<string, T>, key: string, value: T): void {
  open.set(key, value);
  const [oldest] = open.keys();
  if (open.size > MAX_OPEN && oldest !== undefined) open.delete(oldest);
}

/** What the events so far have told, as far as later ones are spelt by it. */
export class Scene {
  agentId: string | undefined;
  sessionId: string | undefined;
  detail: Detail = 'status';
  /** Of the run that is being told: 32 hex digits. */
  replyId = '';
  /** When the event that is being spelt was stored. */
  timestamp = '';
  /** 32 hex digits of the event that is being spelt. */
  eventHex = '';
  pending: readonly ConfirmationBody[] = [];
  decisions: readonly Readonly<Record<string, unknown>>[] = [];
  readonly blocks = new Map<string, Block>();
  readonly calls = new Map<string, ShownCall>();

  constructor(readonly taskId: string) {}

  /** Another run begins; what the one before has left open stays so. */
  begin(): void {
    this.replyId = this.eventHex;
    this.blocks.clear();
    this.calls.clear();
  }
}
