import { EventType } from '@ag-ui/core';
import type { AgUiEvent, ViewOptions } from './contract.js';
import type { PrivateEvent } from './private.events.js';

/** One invocation of a sub-agent: its id is never used again. */
interface Invocation {
  readonly subagentRunId: string;
  readonly open: Set<string>;
  readonly results: Map<string, string>;
}

/** Events of sub-agents as events of their own (sub-agents), tagged with their invocation. */
export class NativeSubagents {
  /** By source. */
  private readonly running = new Map<string, Invocation>();
  private readonly owners = new Map<string, string>();
  private invocations = 0;

  constructor(private readonly options: Pick<ViewOptions, 'reasoning' | 'toolCallArgs'>) {}

  /** The invocation that asked for the call to be confirmed. */
  ownerOf(toolCallId: string): string | undefined {
    return this.owners.get(toolCallId);
  }

  /** Undefined: there is no such event here. `messageId`: for what needs a message of its own. */
  convert(event: PrivateEvent, source: string, messageId: string): readonly AgUiEvent[] | undefined {
    const handle = Object.hasOwn(HANDLERS, event.type) ? HANDLERS[event.type] : undefined;
    if (!handle) return undefined;
    const begun = this.running.get(source);
    if (begun && event.type === 'AGENT_START') return [];
    const invocation = begun ?? this.begin(source);
    const { subagentRunId } = invocation;
    const start: AgUiEvent = { type: EventType.SUBAGENT_STARTED, subagentRunId, name: nameOf(event) };
    const converted = handle({ event, invocation, options: this.options, messageId });
    if (event.type === 'AGENT_END') this.running.delete(source);
    for (const id of askedBy(event)) this.owners.set(id, subagentRunId);
    return begun ? converted : [start, ...converted];
  }

  private begin(source: string): Invocation {
    this.invocations += 1;
    const invocation = { subagentRunId: `${source}#${this.invocations}`, open: new Set<string>(), results: new Map() };
    this.running.set(source, invocation);
    return invocation;
  }
}

interface Happening {
  readonly event: PrivateEvent;
  readonly invocation: Invocation;
  readonly options: Pick<ViewOptions, 'reasoning' | 'toolCallArgs'>;
  readonly messageId: string;
}

type Handler = (happening: Happening) => readonly AgUiEvent[];

const text = ({ event }: Happening, field: string): string => (typeof event[field] === 'string' ? event[field] : '');
const nothing: Handler = () => [];

const HANDLERS: Readonly<Record<string, Handler>> = {
  AGENT_START: nothing,
  AGENT_END: ({ invocation: { subagentRunId } }) => [{ type: EventType.SUBAGENT_FINISHED, subagentRunId }],
  TEXT_BLOCK_START: nothing,
  TEXT_BLOCK_DELTA: (happening) => {
    const { subagentRunId, open } = happening.invocation;
    const messageId = text(happening, 'blockId') || text(happening, 'replyId');
    const delta = text(happening, 'delta');
    if (messageId === '' || delta === '') return [];
    const content: AgUiEvent = { type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta, subagentRunId };
    if (open.has(messageId)) return [content];
    open.add(messageId);
    return [{ type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant', subagentRunId }, content];
  },
  TEXT_BLOCK_END: (happening) => {
    const { subagentRunId, open } = happening.invocation;
    const messageId = text(happening, 'blockId') || text(happening, 'replyId');
    return open.delete(messageId) ? [{ type: EventType.TEXT_MESSAGE_END, messageId, subagentRunId }] : [];
  },
  THINKING_BLOCK_START: nothing,
  THINKING_BLOCK_DELTA: (happening) => {
    const { subagentRunId, open } = happening.invocation;
    const messageId = `${text(happening, 'blockId') || text(happening, 'replyId')}-reasoning`;
    const delta = text(happening, 'delta');
    if (!happening.options.reasoning || delta === '') return [];
    const content: AgUiEvent = { type: EventType.REASONING_MESSAGE_CONTENT, messageId, delta, subagentRunId };
    if (open.has(messageId)) return [content];
    open.add(messageId);
    return [
      { type: EventType.REASONING_START, messageId, subagentRunId },
      { type: EventType.REASONING_MESSAGE_START, messageId, role: 'reasoning', subagentRunId },
      content,
    ];
  },
  THINKING_BLOCK_END: (happening) => {
    const { subagentRunId, open } = happening.invocation;
    const messageId = `${text(happening, 'blockId') || text(happening, 'replyId')}-reasoning`;
    if (!open.delete(messageId)) return [];
    return [
      { type: EventType.REASONING_MESSAGE_END, messageId, subagentRunId },
      { type: EventType.REASONING_END, messageId, subagentRunId },
    ];
  },
  TOOL_CALL_START: (happening) => {
    const toolCallId = text(happening, 'toolCallId');
    if (toolCallId === '') return [];
    const toolCallName = text(happening, 'toolCallName') || 'unknown';
    const { subagentRunId } = happening.invocation;
    return [{ type: EventType.TOOL_CALL_START, toolCallId, toolCallName, subagentRunId }];
  },
  TOOL_CALL_DELTA: (happening) => {
    const [toolCallId, delta] = [text(happening, 'toolCallId'), text(happening, 'delta')];
    if (!happening.options.toolCallArgs || toolCallId === '' || delta === '') return [];
    const { subagentRunId } = happening.invocation;
    return [{ type: EventType.TOOL_CALL_ARGS, toolCallId, delta, subagentRunId }];
  },
  TOOL_CALL_END: (happening) => {
    const { subagentRunId } = happening.invocation;
    return [{ type: EventType.TOOL_CALL_END, toolCallId: text(happening, 'toolCallId'), subagentRunId }];
  },
  TOOL_RESULT_START: nothing,
  TOOL_RESULT_TEXT_DELTA: (happening) => {
    const { results } = happening.invocation;
    const toolCallId = text(happening, 'toolCallId');
    results.set(toolCallId, (results.get(toolCallId) ?? '') + text(happening, 'delta'));
    return [];
  },
  TOOL_RESULT_END: (happening) => {
    const { subagentRunId, results } = happening.invocation;
    const toolCallId = text(happening, 'toolCallId');
    if (toolCallId === '') return [];
    const content = results.get(toolCallId) ?? '';
    const { messageId } = happening;
    return [{ type: EventType.TOOL_CALL_RESULT, messageId, toolCallId, content, role: 'tool', subagentRunId }];
  },
  REQUIRE_USER_CONFIRM: nothing,
};

function askedBy({ type, toolCalls }: PrivateEvent): readonly string[] {
  if (type !== 'REQUIRE_USER_CONFIRM' || !Array.isArray(toolCalls)) return [];
  return toolCalls.flatMap((call: unknown) => {
    const { id } = (call ?? {}) as { readonly id?: unknown };
    return typeof id === 'string' ? [id] : [];
  });
}

/** The name of a sub-agent: as it says it, else the end of the path it is at. */
export function nameOf({ name, source }: PrivateEvent): string {
  return typeof name === 'string' && name !== '' ? name : (source?.split('/').at(-1) ?? 'subagent');
}
