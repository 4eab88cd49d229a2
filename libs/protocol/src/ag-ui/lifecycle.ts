import { EventType } from '@ag-ui/core';
import type { AgUiEvent } from './contract.js';

type Tagged = AgUiEvent & { readonly subagentRunId?: string };

/** Kinds of things that are opened and closed: what opens them, goes on with them, closes them, and by which field. */
interface Kind {
  readonly start: EventType;
  readonly more?: EventType;
  readonly end: EventType;
  readonly id: 'messageId' | 'toolCallId' | 'stepName' | 'subagentRunId';
}

/** In the order in which they are closed. */
const KINDS: readonly Kind[] = [
  {
    start: EventType.TEXT_MESSAGE_START,
    more: EventType.TEXT_MESSAGE_CONTENT,
    end: EventType.TEXT_MESSAGE_END,
    id: 'messageId',
  },
  {
    start: EventType.REASONING_MESSAGE_START,
    more: EventType.REASONING_MESSAGE_CONTENT,
    end: EventType.REASONING_MESSAGE_END,
    id: 'messageId',
  },
  { start: EventType.REASONING_START, end: EventType.REASONING_END, id: 'messageId' },
  { start: EventType.TOOL_CALL_START, more: EventType.TOOL_CALL_ARGS, end: EventType.TOOL_CALL_END, id: 'toolCallId' },
  { start: EventType.STEP_STARTED, end: EventType.STEP_FINISHED, id: 'stepName' },
  { start: EventType.SUBAGENT_STARTED, end: EventType.SUBAGENT_FINISHED, id: 'subagentRunId' },
];

const BY_TYPE: ReadonlyMap<EventType, Kind> = new Map(
  KINDS.flatMap((kind) => [kind.start, kind.end, ...(kind.more ? [kind.more] : [])].map((type) => [type, kind])),
);

/** What never passes: the shorthand would open things behind our back. */
const REFUSED: ReadonlySet<EventType> = new Set([
  EventType.TEXT_MESSAGE_CHUNK,
  EventType.TOOL_CALL_CHUNK,
  EventType.REASONING_MESSAGE_CHUNK,
]);

/**
 * The lifecycle rules of a run's events, as consumers verify them: whatever would break one is left out, what is open when
 * the run ends is closed, and one terminal event ends it.
 */
export class Lifecycle {
  /** By kind and then by id (steps by their owner and name): the tag of whoever opened it. */
  private readonly open = new Map<Kind, Map<string, string | undefined>>(KINDS.map((kind) => [kind, new Map()]));
  /** Who opened what there was, also when it is closed. */
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
    return kind === undefined || this.follow(kind, event) ? [event] : [];
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
    if (!this.open.get(KINDS.at(-1)!)!.delete(subagentRunId)) return [];
    this.finished.add(subagentRunId);
    return [event];
  }

  /** True when the event may go on, close or open the thing it names. */
  private follow(kind: Kind, event: Tagged): boolean {
    const id = (event as unknown as Readonly<Record<string, unknown>>)[kind.id];
    if (typeof id !== 'string' || id === '') return false;
    const tag = kind.id === 'subagentRunId' ? undefined : event.subagentRunId;
    const key = kind.id === 'stepName' ? stepKey(id, tag) : id;
    const open = this.open.get(kind)!;
    if (event.type === kind.start) return this.opens(kind, key, event);
    const owner = open.get(key);
    if (!open.has(key) || (tag !== undefined && tag !== owner)) return false;
    if (event.type === kind.end) {
      open.delete(key);
      if (kind.id === 'subagentRunId') this.finished.add(id);
    }
    return true;
  }

  private opens(kind: Kind, key: string, event: Tagged): boolean {
    const open = this.open.get(kind)!;
    if (open.has(key)) return false;
    if (event.type === EventType.SUBAGENT_STARTED) return this.opensSubagent(event);
    // A message's id and a call's are its owner's for the whole run.
    const name = `${kind.id === 'stepName' ? kind.start : ownership(kind)} ${key}`;
    const tag = event.subagentRunId;
    if (this.owners.has(name) && tag !== undefined && this.owners.get(name) !== tag) return false;
    if (!this.owners.has(name)) this.owners.set(name, tag);
    open.set(key, this.owners.get(name));
    return true;
  }

  private opensSubagent(event: Extract<AgUiEvent, { type: EventType.SUBAGENT_STARTED }>): boolean {
    const { subagentRunId, parentSubagentRunId: parent } = event;
    const open = this.open.get(KINDS.at(-1)!)!;
    if (this.finished.has(subagentRunId)) return false;
    if (parent !== undefined && !open.has(parent) && !this.finished.has(parent)) return false;
    open.set(subagentRunId, undefined);
    return true;
  }
}

/** Reasoning spans and their messages share their ids. */
function ownership({ start, id }: Kind): string {
  return start.startsWith('REASONING') ? 'reasoning' : id;
}

function stepKey(stepName: string, owner: string | undefined): string {
  return `${owner ?? ''}\n${stepName}`;
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
