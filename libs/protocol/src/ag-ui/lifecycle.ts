import { EventType } from '@ag-ui/core';
import type { AgUiEvent } from './contract.js';

type Tagged = AgUiEvent & { readonly subagentRunId?: string };

/** Kinds of things that are opened and closed: what opens them, goes on with them, closes them, and by which field. */
interface Kind {
  readonly start: EventType;
  readonly more?: EventType;
  readonly end: EventType;
  readonly id: 'messageId' | 'toolCallId' | 'stepName' | 'subagentRunId';
  /** What its ids belong to somebody as; absent: it has owners of its own kind. */
  readonly owned?: Owned;
}
/** Things whose ids are one owner's. Reasoning spans and their messages share theirs. */
const OWNED = ['message', 'call', 'reasoning', 'activity'] as const;
type Owned = (typeof OWNED)[number];

/** In the order in which they are closed. */
const KINDS: readonly Kind[] = [
  {
    start: EventType.TEXT_MESSAGE_START,
    more: EventType.TEXT_MESSAGE_CONTENT,
    end: EventType.TEXT_MESSAGE_END,
    id: 'messageId',
    owned: 'message',
  },
  {
    start: EventType.REASONING_MESSAGE_START,
    more: EventType.REASONING_MESSAGE_CONTENT,
    end: EventType.REASONING_MESSAGE_END,
    id: 'messageId',
    owned: 'reasoning',
  },
  { start: EventType.REASONING_START, end: EventType.REASONING_END, id: 'messageId', owned: 'reasoning' },
  {
    start: EventType.TOOL_CALL_START,
    more: EventType.TOOL_CALL_ARGS,
    end: EventType.TOOL_CALL_END,
    id: 'toolCallId',
    owned: 'call',
  },
  { start: EventType.STEP_STARTED, end: EventType.STEP_FINISHED, id: 'stepName' },
  { start: EventType.SUBAGENT_STARTED, end: EventType.SUBAGENT_FINISHED, id: 'subagentRunId' },
];
const SUBAGENTS = KINDS.at(-1)!;

const BY_TYPE: ReadonlyMap<EventType, Kind> = new Map(
  KINDS.flatMap((kind) => [kind.start, kind.end, ...(kind.more ? [kind.more] : [])].map((type) => [type, kind])),
);

/** What never passes: the shorthand would open things behind our back, and a snapshot would change whose they are. */
const REFUSED: ReadonlySet<EventType> = new Set([
  EventType.TEXT_MESSAGE_CHUNK,
  EventType.TOOL_CALL_CHUNK,
  EventType.REASONING_MESSAGE_CHUNK,
  EventType.MESSAGES_SNAPSHOT,
]);

/**
 * The lifecycle rules of a run's events, as consumers verify them: whatever would break one is left out, what is open when
 * the run ends is closed, and one terminal event ends it.
 */
export class Lifecycle {
  /** By kind: ids, or steps by their owner and name. */
  private readonly open = new Map<Kind, Map<string, string | undefined>>(KINDS.map((kind) => [kind, new Map()]));
  /** Whose what there is or was is: the sub-agent's, or the run's own. */
  private readonly owners = new Map<string, string | undefined>();
  private readonly finished = new Set<string>();
  private hasBegun = false;
  private hasEnded = false;

  /** The run has had its terminal event. */
  get isOver(): boolean {
    return this.hasEnded;
  }

  /** The events that may follow what was admitted before. */
  admit(events: readonly AgUiEvent[]): AgUiEvent[] {
    return events.flatMap((event) => this.one(event));
  }

  private one(event: Tagged): AgUiEvent[] {
    if (this.hasEnded || REFUSED.has(event.type) || event.subagentRunId === null) return [];
    if (event.type === EventType.RUN_STARTED) return this.begin(event);
    if (!this.hasBegun) return [];
    if (event.type === EventType.RUN_ERROR) return this.end([event]);
    if (event.type === EventType.RUN_FINISHED) return this.finish(event);
    if (event.type === EventType.SUBAGENT_ERROR) return this.subagentFailed(event);
    const kind = BY_TYPE.get(event.type);
    return (kind === undefined ? this.isFree(event) : this.follow(kind, event)) ? [event] : [];
  }

  private begin(event: AgUiEvent): AgUiEvent[] {
    if (this.hasBegun) return [];
    this.hasBegun = true;
    return [event];
  }

  private end(events: AgUiEvent[]): AgUiEvent[] {
    this.hasEnded = true;
    return events;
  }

  private finish(event: Extract<AgUiEvent, { type: EventType.RUN_FINISHED }>): AgUiEvent[] {
    const { outcome, timestamp } = event;
    // Nothing to answer is no interrupt: the consumer would have to refuse the run.
    if (outcome?.type === 'interrupt' && outcome.interrupts.length === 0) return [];
    const at = timestamp === undefined ? {} : { timestamp };
    const closings = KINDS.flatMap((kind) =>
      [...this.open.get(kind)!].map(([key, owner]) => ({ ...closingOf(kind, key, owner, event), ...at }) as AgUiEvent),
    );
    return this.end([...closings, event]);
  }

  private subagentFailed(event: Extract<AgUiEvent, { type: EventType.SUBAGENT_ERROR }>): AgUiEvent[] {
    const { subagentRunId } = event;
    if (!this.open.get(SUBAGENTS)!.delete(subagentRunId)) return [];
    this.finished.add(subagentRunId);
    return [event];
  }

  /** True for what opens and closes nothing, unless it is said to be of somebody it is not of. */
  private isFree(event: Tagged): boolean {
    const tag = event.subagentRunId;
    if (event.type === EventType.TOOL_CALL_RESULT) {
      // A message of its own.
      return !this.owners.has(`message ${event.messageId}`) && this.claim(`message ${event.messageId}`, tag);
    }
    if (event.type === EventType.ACTIVITY_SNAPSHOT || event.type === EventType.ACTIVITY_DELTA) {
      return this.claim(`activity ${event.messageId}`, tag);
    }
    if (event.type !== EventType.REASONING_ENCRYPTED_VALUE) return true;
    return OWNED.every((owned) => !this.isOfAnother(`${owned} ${event.entityId}`, tag));
  }

  /** True when the event may open, go on or close the thing it names. */
  private follow(kind: Kind, event: Tagged): boolean {
    const id = (event as unknown as Readonly<Record<string, unknown>>)[kind.id];
    if (typeof id !== 'string' || id === '') return false;
    const tag = event.subagentRunId;
    const key = kind.id === 'stepName' ? `${tag ?? ''}\n${id}` : id;
    const open = this.open.get(kind)!;
    if (event.type === kind.start) return !open.has(key) && this.opens(kind, key, event);
    if (!open.has(key) || (kind.owned !== undefined && this.isOfAnother(`${kind.owned} ${id}`, tag))) return false;
    if (event.type !== kind.end) return true;
    open.delete(key);
    if (kind === SUBAGENTS) this.finished.add(id);
    return true;
  }

  private opens(kind: Kind, key: string, event: Tagged): boolean {
    if (event.type === EventType.SUBAGENT_STARTED) return this.opensSubagent(event);
    const tag = event.type === EventType.TOOL_CALL_START ? this.ownerOfCall(event) : event.subagentRunId;
    if (tag === null || (kind.owned !== undefined && !this.claim(`${kind.owned} ${key}`, tag))) return false;
    const owner = kind.owned === undefined ? tag : this.owners.get(`${kind.owned} ${key}`);
    this.open.get(kind)!.set(key, owner);
    return true;
  }

  /** A call is of whoever the message is of that carries it. Null: it is said to be of two. */
  private ownerOfCall(event: Extract<AgUiEvent, { type: EventType.TOOL_CALL_START }>): string | undefined | null {
    const { toolCallId, parentMessageId, subagentRunId } = event;
    const parent = `message ${parentMessageId}`;
    if (parentMessageId === undefined || !this.owners.has(parent)) return subagentRunId;
    if (this.isOfAnother(parent, subagentRunId)) return null;
    const [owner, call] = [this.owners.get(parent), `call ${toolCallId}`];
    return this.owners.has(call) && this.owners.get(call) !== owner ? null : owner;
  }

  /** False when the thing is known to be of another; else it is of this one from now on. */
  private claim(name: string, tag: string | undefined): boolean {
    if (this.isOfAnother(name, tag)) return false;
    if (!this.owners.has(name)) this.owners.set(name, tag);
    return true;
  }

  private isOfAnother(name: string, tag: string | undefined): boolean {
    return tag !== undefined && this.owners.has(name) && this.owners.get(name) !== tag;
  }

  private opensSubagent(event: Extract<AgUiEvent, { type: EventType.SUBAGENT_STARTED }>): boolean {
    const { subagentRunId, parentSubagentRunId: parent } = event;
    const open = this.open.get(SUBAGENTS)!;
    if (this.finished.has(subagentRunId)) return false;
    if (parent !== undefined && !open.has(parent) && !this.finished.has(parent)) return false;
    open.set(subagentRunId, undefined);
    return true;
  }
}

function closingOf(
  kind: Kind,
  key: string,
  owner: string | undefined,
  { outcome }: Extract<AgUiEvent, { type: EventType.RUN_FINISHED }>,
): object {
  if (kind.id === 'subagentRunId') {
    if (outcome?.type !== 'interrupt') return { type: kind.end, subagentRunId: key };
    const interruptIds = outcome.interrupts.filter(({ subagentRunId }) => subagentRunId === key).map(({ id }) => id);
    return { type: kind.end, subagentRunId: key, outcome: { type: 'suspended', interruptIds } };
  }
  const id = kind.id === 'stepName' ? key.slice(key.indexOf('\n') + 1) : key;
  return { type: kind.end, [kind.id]: id, ...(owner === undefined ? {} : { subagentRunId: owner }) };
}
