import type { AssistantModelMessage, ModelMessage } from 'ai';
import type { CallerConversation, CallerMessage } from '#lib/domain';
import { bound, outputForModel } from './dialogue.mapping.js';
import { settle } from './history.js';

/** What a caller says was said around the input, as messages. */
export interface CallerMessages {
  readonly before: readonly ModelMessage[];
  /** Behind the input: calls that were made for it, with their results. */
  readonly after: readonly ModelMessage[];
}

/** @param limit characters of one output that the model is shown. */
export function callerMessages({ before, after }: CallerConversation, limit: number): CallerMessages {
  const names = new Map<string, string>();
  const messages = (told: readonly CallerMessage[]): ModelMessage[] =>
    told.flatMap((message) => messageOf(message, names, limit));
  return { before: messages(before), after: settle(messages(after), 'given') };
}

/** What the caller wants the model to heed. */
export function callerInstructions({ before, after }: CallerConversation): readonly string[] {
  return [...before, ...after].flatMap((message) => (message.role === 'system' ? [message.text] : []));
}

/** Instructions have their own place. `names` learns of the tools that are called. */
function messageOf(message: CallerMessage, names: Map<string, string>, limit: number): ModelMessage[] {
  switch (message.role) {
    case 'system':
      return [];
    case 'user':
      return [{ role: 'user', content: message.text }];
    case 'assistant':
      return [{ role: 'assistant', content: contentOf(message, names) }];
    case 'tool': {
      const { tool_call_id: toolCallId, output } = message;
      const toolName = names.get(toolCallId) ?? 'unknown';
      return [{ role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output: shown(output, limit) }] }];
    }
  }
}

function contentOf(
  { text, tool_calls = [] }: Extract<CallerMessage, { role: 'assistant' }>,
  names: Map<string, string>,
): Exclude<AssistantModelMessage['content'], string> {
  for (const { tool_call_id, tool_name } of tool_calls) names.set(tool_call_id, tool_name);
  return [
    ...(text === undefined || text === '' ? [] : [{ type: 'text' as const, text }]),
    ...tool_calls.map((call) => ({
      type: 'tool-call' as const,
      toolCallId: call.tool_call_id,
      toolName: call.tool_name,
      input: call.arguments,
    })),
  ];
}

function shown(output: unknown, limit: number): { type: 'text'; value: string } | { type: 'json'; value: null } {
  if (typeof output === 'string') return { type: 'text', value: bound(output, limit).text };
  return { type: 'json', value: outputForModel(output, limit).value as null };
}
