import { EventType } from '@ag-ui/core';
import { EventSchemas } from '@ag-ui/core/schemas';
import type { Payload } from '#lib/domain';
import type { AgUiEvent, RunView, ViewOptions } from './contract.js';
import { nameOf, NativeSubagents } from './native.subagents.js';

/** An event of a framework, as far as anything is known of it. `source`: the sub-agent it is of. */
export type PrivateEvent = Readonly<Record<string, unknown>> & { readonly type: string; readonly source?: string };

/** Events of an AG-UI agent behind a task that mean the same to the consumer of this run. */
const STATE_EVENTS: ReadonlySet<string> = new Set([
  EventType.STATE_SNAPSHOT,
  EventType.STATE_DELTA,
  EventType.ACTIVITY_SNAPSHOT,
  EventType.ACTIVITY_DELTA,
]);

/** Private events of frameworks: those of sub-agents, custom ones, states; anything else is `RAW`, if at all. */
export class PrivateEvents {
  readonly subagents: NativeSubagents | undefined;

  constructor(
    { profile }: RunView,
    private readonly options: ViewOptions,
  ) {
    this.subagents = options.nativeSubagents && profile === 'full' ? new NativeSubagents(options) : undefined;
  }

  convert({ framework, event }: Payload<'agent.event'>, messageId: string): readonly AgUiEvent[] {
    const known = read(event);
    const converted = known && this.known(known, framework, messageId);
    if (converted) return converted;
    return this.options.raw ? [{ type: EventType.RAW, event, source: framework }] : [];
  }

  private known(event: PrivateEvent, framework: string, messageId: string): readonly AgUiEvent[] | undefined {
    if (event.source !== undefined) {
      return this.subagents ? this.subagents.convert(event, event.source, messageId) : this.ofSubagent(event);
    }
    const { type, name, value } = event;
    if (type === 'CUSTOM' && typeof name === 'string') return [{ type: EventType.CUSTOM, name, value: value ?? null }];
    if (framework !== 'ag-ui' || !STATE_EVENTS.has(type)) return undefined;
    const checked = EventSchemas.safeParse(event);
    if (!checked.success) return undefined;
    return this.options.stateEvents ? [checked.data] : [];
  }

  private ofSubagent(event: PrivateEvent): readonly AgUiEvent[] | undefined {
    const encode = Object.hasOwn(SUBAGENT_EVENTS, event.type) ? SUBAGENT_EVENTS[event.type] : undefined;
    if (!encode) return undefined;
    if (encode.name === 'subagent.thinking' && !this.options.reasoning) return [];
    const { source, type } = event;
    return [{ type: EventType.CUSTOM, name: encode.name, value: { source, type, ...encode.value(event) } }];
  }
}

interface SubagentEvent {
  readonly name: string;
  readonly value: (event: PrivateEvent) => Readonly<Record<string, unknown>>;
}

const call = (event: PrivateEvent): Readonly<Record<string, unknown>> => ({
  toolCallId: textOf(event['toolCallId']),
  toolName: textOf(event['toolCallName'] ?? event['toolName']),
});
const delta = (event: PrivateEvent): Readonly<Record<string, unknown>> => ({ delta: textOf(event['delta']) });

/** Events of sub-agents as AgentScope's consumers know them, by what AgentScope calls them. */
const SUBAGENT_EVENTS: Readonly<Record<string, SubagentEvent>> = {
  AGENT_START: { name: 'subagent.lifecycle', value: (event) => ({ name: nameOf(event) }) },
  AGENT_END: { name: 'subagent.lifecycle', value: () => ({}) },
  TEXT_BLOCK_DELTA: { name: 'subagent.text', value: delta },
  THINKING_BLOCK_DELTA: { name: 'subagent.thinking', value: delta },
  TOOL_CALL_START: { name: 'subagent.tool_call', value: call },
  TOOL_CALL_END: { name: 'subagent.tool_call', value: call },
  TOOL_RESULT_END: {
    name: 'subagent.tool_result',
    value: (event) => ({ ...call(event), ...(event['state'] === undefined ? {} : { state: event['state'] }) }),
  },
  REQUIRE_USER_CONFIRM: {
    name: 'subagent.require_confirm',
    value: (event) => ({ toolCallCount: Array.isArray(event['toolCalls']) ? event['toolCalls'].length : 0 }),
  },
};

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function read(event: unknown): PrivateEvent | undefined {
  if (typeof event !== 'object' || event === null || Array.isArray(event)) return undefined;
  const { type, source } = event as Readonly<Record<string, unknown>>;
  if (typeof type !== 'string') return undefined;
  const isOfSubagent = typeof source === 'string' && source.trim() !== '';
  return { ...event, type, source: isOfSubagent ? source : undefined };
}
