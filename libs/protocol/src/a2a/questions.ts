import type { Part } from '@a2a-js/sdk';
import type { ConfirmationBody } from '#lib/domain';
import { dataPart, textPart } from './parts.js';

/** What a task waits for: in words for everybody, and as data for those who know our extension. */
export function encodeQuestion(asked: readonly ConfirmationBody[]): Part[] {
  const pending = asked.map(({ tool_call_id, kind, tool_name, arguments: args, prompt, expires_at }) => ({
    toolCallId: tool_call_id,
    kind,
    ...(tool_name === undefined ? {} : { toolName: tool_name }),
    ...(args === undefined ? {} : { args }),
    ...(prompt === undefined ? {} : { message: prompt }),
    expiresAt: expires_at,
  }));
  const [{ kind } = { kind: 'question' as const }] = asked;
  return [textPart(asked.map(inWords).join('\n')), dataPart({ kind, pending })];
}

const WORDS: Readonly<Record<ConfirmationBody['kind'], (tool: string) => string>> = {
  tool_confirmation: (tool) => `The call of ${tool} waits for your approval.`,
  question: () => 'The agent has a question.',
  client_tool: (tool) => `The agent waits for the result of ${tool}.`,
  authorization: (tool) => `The agent waits for an authorization${tool === 'a tool' ? '' : ` of ${tool}`}.`,
};

function inWords({ kind, tool_name = 'a tool', prompt }: ConfirmationBody): string {
  return prompt ?? WORDS[kind](tool_name);
}

type Members = Readonly<Record<string, unknown>>;

/** How it was answered, whichever protocol that came by. */
export function encodeAnswer(items: readonly Members[]): Part[] {
  const words = items.flatMap(({ input }) => (typeof input === 'string' ? [textPart(input)] : []));
  const decisions = items.filter(({ approved }) => approved !== undefined).map(encodeDecision);
  const results = items.filter((item) => 'output' in item || 'error' in item).map(encodeResult);
  const data = {
    ...(decisions.length > 0 ? { decisions } : {}),
    ...(results.length > 0 ? { results } : {}),
  };
  return words.length > 0 && Object.keys(data).length === 0 ? words : [...words, dataPart(data)];
}

function encodeDecision({ tool_call_id, approved, reason, edited_args }: Members): Members {
  return {
    toolCallId: tool_call_id,
    approved,
    ...(reason === undefined ? {} : { reason }),
    ...(edited_args === undefined ? {} : { editedArgs: edited_args }),
  };
}

function encodeResult({ tool_call_id, output, error }: Members): Members {
  return { toolCallId: tool_call_id, ...(error === undefined ? { output } : { error }) };
}
