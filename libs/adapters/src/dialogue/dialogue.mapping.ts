import type { LanguageModelUsage, ModelMessage, TextStreamPart, ToolResultPart, ToolSet } from 'ai';
import type { UsageBody } from '#lib/domain';
import type { RunnerItem } from '../contract/index.js';
import type { Conversation } from './conversation.js';
import type { History } from './history.js';
import type { Answer } from './narration.js';

/** A part of the framework's stream. */
export type Part = TextStreamPart<ToolSet>;

/** A backend's options, with their defaults. The platform checked them against the descriptor's schema. */
export interface DialogueOptions {
  readonly instructions: string | undefined;
  readonly collect: readonly string[];
  readonly maxModelCalls: number;
  readonly inputLimit: number;
  readonly conversationLimit: number;
  readonly idleMs: number;
  readonly temperature: number | undefined;
}

export function parseOptions(options: Readonly<Record<string, unknown>>): DialogueOptions {
  const number = (name: string): number | undefined => {
    const value = options[name];
    return typeof value === 'number' ? value : undefined;
  };
  const { instructions, collect } = options;
  return {
    instructions: typeof instructions === 'string' ? instructions : undefined,
    collect: Array.isArray(collect) ? collect.filter((name) => typeof name === 'string') : [],
    maxModelCalls: number('max_model_calls') ?? 32,
    inputLimit: number('input_limit') ?? 48_000,
    conversationLimit: number('conversation_limit') ?? 256_000,
    idleMs: (number('idle_seconds') ?? 120) * 1000,
    temperature: number('temperature'),
  };
}

/** A text within its limit, and how many characters that cost. */
export interface Bounded {
  readonly text: string;
  readonly omitted: number;
}

/** The task's input as the user's message. The model is told when it does not see all of it. */
export function promptOf(input: unknown, limit: number): Bounded {
  const text = inputText(input);
  const { text: shown, omitted } = bound(text, limit);
  if (omitted === 0) return { text, omitted };
  const note = `[The input goes on: ${text.length} characters in all. A tool that is given no text sees all of it.]`;
  return { text: `${shown}\n\n${note}`, omitted };
}

function inputText(input: unknown): string {
  if (typeof input === 'string') return input;
  if (Array.isArray(input)) return input.map(inputText).join('\n\n');
  if (typeof input !== 'object' || input === null) return JSON.stringify(input) ?? '';
  const { text, type, ...rest } = input as Record<string, unknown>;
  if (type === 'data' && 'data' in rest) return inputText(rest.data);
  if (typeof text === 'string' && (type === 'text' || Object.keys(rest).length === 0)) return text;
  return JSON.stringify(input);
}

/** Cuts a text to at most `limit` characters, never inside a surrogate pair. */
export function bound(text: string, limit: number): Bounded {
  if (text.length <= limit) return { text, omitted: 0 };
  const shown = text.slice(0, limit).replace(/[\uD800-\uDBFF]$/, '');
  return { text: shown, omitted: text.length - shown.length };
}

/** A tool's output as the model gets it: JSON as it is, or the beginning of its text when that is long. */
export function outputForModel(output: unknown, limit: number): { readonly value: unknown; readonly omitted: number } {
  const json = JSON.stringify(output) ?? 'null';
  if (json.length <= limit) return { value: output ?? null, omitted: 0 };
  const { text, omitted } = bound(json, limit);
  return { value: `${text} [${omitted} more characters]`, omitted };
}

/** A call the model made in a turn that did not end, with what is known of its outcome. */
export interface TurnCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly args: unknown;
  readonly outcome: { readonly value: unknown } | { readonly error: string };
}

/** The turn of a lost run as messages, so that the model goes on after its calls instead of making them again. */
export function messagesOfTurn(calls: readonly TurnCall[]): ModelMessage[] {
  if (calls.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: calls.map(({ toolCallId, toolName, args }) => ({
        type: 'tool-call',
        toolCallId,
        toolName,
        input: args,
      })),
    },
    {
      role: 'tool',
      content: calls.map(resultOfCall),
    },
  ];
}

/** The outcome of a call as the model reads it. */
export function resultOfCall({ toolCallId, toolName, outcome }: TurnCall): ToolResultPart {
  return {
    type: 'tool-result',
    toolCallId,
    toolName,
    output:
      'error' in outcome
        ? { type: 'error-text', value: outcome.error }
        : { type: 'json', value: outcome.value as null },
  };
}

/** Token counts, when the model gave any. */
export function usageOf(usage: LanguageModelUsage): UsageBody | undefined {
  const { inputTokens, outputTokens } = usage;
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  return { input_tokens: inputTokens ?? 0, output_tokens: outputTokens ?? 0 };
}

export function addUsage(a: UsageBody | undefined, b: UsageBody | undefined): UsageBody | undefined {
  if (!a || !b) return a ?? b;
  return { input_tokens: a.input_tokens + b.input_tokens, output_tokens: a.output_tokens + b.output_tokens };
}

/** The framework's own view of a turn, without headers and bodies, which may carry secrets and are large. */
export function privateEvent(part: Part): unknown {
  if (part.type === 'start-step') return { type: part.type, warnings: part.warnings.length };
  if (part.type !== 'finish-step') return undefined;
  const { finishReason, rawFinishReason, response, usage } = part;
  return {
    type: part.type,
    finish_reason: finishReason,
    raw_finish_reason: rawFinishReason ?? null,
    response_id: response.id,
    model: response.modelId,
    usage: usageOf(usage) ?? null,
  };
}

/** The outputs of tools as one object: later tools win, what is no object stands under the tool's name. */
export function mergeOutputs(outputs: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const merged: Record<string, unknown> = {};
  for (const [name, output] of outputs) {
    const isObject = typeof output === 'object' && output !== null && !Array.isArray(output);
    Object.assign(merged, isObject ? output : { [name]: output });
  }
  return merged;
}

/** How a run ended, besides its answer. */
export interface Ending {
  readonly model: string;
  readonly collect: readonly string[];
  /** Names of `collect` whose outputs there are not. */
  readonly missing: readonly string[];
  readonly finishReason: string | undefined;
  /** What the session's next task is told. */
  readonly history?: History;
}

/** The end of a run that answered. */
export function resultItem(
  { outputs, omitted, spent }: Pick<Conversation, 'outputs' | 'omitted' | 'spent'>,
  { text, messageId }: Answer,
  { model, collect, missing, finishReason, history }: Ending,
): RunnerItem {
  const collected = new Map([...outputs].filter(([name]) => collect.includes(name)));
  return {
    kind: 'result',
    result: {
      text,
      ...(collect.length === 0 ? {} : { data: mergeOutputs(collected) }),
      metadata: {
        model,
        model_calls: spent.modelCalls,
        ...(finishReason === 'length' ? { finish_reason: 'length' } : {}),
        ...(omitted.characters === 0 ? {} : { trimmed_characters: omitted.characters }),
        ...(omitted.turns === 0 ? {} : { trimmed_turns: omitted.turns }),
        ...(omitted.exchanges === 0 ? {} : { trimmed_exchanges: omitted.exchanges }),
        ...(missing.length === 0 ? {} : { not_collected: missing }),
      },
    },
    ...(messageId === undefined ? {} : { messageId }),
    ...(spent.usage === undefined ? {} : { usage: spent.usage }),
    ...(history === undefined ? {} : { conversation: history }),
  };
}
