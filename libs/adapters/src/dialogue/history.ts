import type { AssistantModelMessage, ModelMessage, ToolModelMessage } from 'ai';

/** What a session remembers of its earlier tasks. JSON. */
export interface History {
  readonly messages: readonly ModelMessage[];
  /** Exchanges that were left out, the oldest ones: each is what one task asked, with all that followed. */
  readonly leftOut: number;
}

/**
 * What is kept of a conversation that is over, in at most `limit` characters of JSON: whole exchanges, the newest. Thoughts
 * and approvals belong to the task that had them and go. Calls keep their results and lose their ids: endpoints use theirs
 * again, and a call of the next task must not be taken for one of these. A call without a result goes, since endpoints
 * refuse it.
 */
export function remember(messages: readonly ModelMessage[], limit: number, leftOutBefore = 0): History {
  const exchanges = exchangesOf(settle(messages));
  let size = 0;
  let first = exchanges.length;
  while (first > 0) {
    size += JSON.stringify(exchanges[first - 1]).length;
    if (size > limit) break;
    first -= 1;
  }
  return { messages: exchanges.slice(first).flat(), leftOut: leftOutBefore + first };
}

function exchangesOf(messages: readonly ModelMessage[]): ModelMessage[][] {
  const exchanges: ModelMessage[][] = [];
  for (const message of messages) {
    if (message.role === 'user' || exchanges.length === 0) exchanges.push([]);
    exchanges.at(-1)!.push(message);
  }
  return exchanges;
}

/** The messages with calls and results that belong together, under names of their own, which begin with `name`. */
export function settle(messages: readonly ModelMessage[], name = 'earlier'): ModelMessage[] {
  const newest = new Map<string, string>();
  const answered = new Set<string>();
  let calls = 0;
  const renamed = messages.map((message): ModelMessage => {
    if (message.role === 'assistant') {
      return rewrite(message, (upstreamId) => {
        calls += 1;
        const id = `${name}_${calls}`;
        newest.set(upstreamId, id);
        return id;
      });
    }
    if (message.role !== 'tool') return message;
    const content = message.content.flatMap((part) => {
      const id = part.type === 'tool-result' ? newest.get(part.toolCallId) : undefined;
      if (part.type !== 'tool-result' || id === undefined || answered.has(id)) return [];
      answered.add(id);
      const { type, toolName, output } = part;
      return [{ type, toolCallId: id, toolName, output }];
    });
    return { role: 'tool', content } satisfies ToolModelMessage;
  });
  return renamed.map((message) => withoutOpenCalls(message, answered)).filter(({ content }) => content.length > 0);
}

function rewrite({ content }: AssistantModelMessage, idOf: (upstreamId: string) => string): AssistantModelMessage {
  if (typeof content === 'string') return { role: 'assistant', content };
  const kept = content.flatMap((part): Exclude<AssistantModelMessage['content'], string> => {
    if (part.type === 'text') return part.text === '' ? [] : [{ type: part.type, text: part.text }];
    if (part.type !== 'tool-call') return [];
    const { type, toolCallId, toolName, input } = part;
    return [{ type, toolCallId: idOf(toolCallId), toolName, input }];
  });
  return { role: 'assistant', content: kept };
}

function withoutOpenCalls(message: ModelMessage, answered: ReadonlySet<string>): ModelMessage {
  if (message.role !== 'assistant' || typeof message.content === 'string') return message;
  const content = message.content.filter((part) => part.type !== 'tool-call' || answered.has(part.toolCallId));
  return { role: 'assistant', content };
}
