import { simulateReadableStream } from 'ai';
import type { DialogueModel } from './dialogue.client.js';

type CallOptions = Parameters<DialogueModel['doStream']>[0];
type Prompt = CallOptions['prompt'];
type Part = Awaited<ReturnType<DialogueModel['doStream']>>['stream'] extends ReadableStream<infer T> ? T : never;
type FunctionTool = Extract<NonNullable<CallOptions['tools']>[number], { type: 'function' }>;

const NOTHING_TO_DO =
  'No model is configured. The local model only calls tools it is told to call, and there was none it could call.';
const USAGE = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

interface Call {
  readonly toolName: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/**
 * A model without a model: it keeps the product working offline and its answers are the same every time. Its rules:
 * call, one after another, each offered tool that the instructions name, and each that the user names (with the JSON
 * object that follows the name, if any), unless it needs arguments nobody gave; where they say "together", call those
 * they name in one turn. Then put in words what the tools found, what failed and what was not allowed.
 */
export class LocalModel implements DialogueModel {
  readonly specificationVersion = 'v3';
  readonly provider = 'local';
  readonly modelId = 'local';
  readonly supportedUrls = {};

  doGenerate(): never {
    throw new Error('the local model only streams');
  }

  doStream(options: CallOptions): ReturnType<DialogueModel['doStream']> {
    options.abortSignal?.throwIfAborted();
    const chunks = respond(options);
    return Promise.resolve({
      stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }),
    });
  }
}

function respond({ prompt, tools }: CallOptions): Part[] {
  const offered = (tools ?? []).filter((tool): tool is FunctionTool => tool.type === 'function');
  const results = resultsIn(prompt);
  const isNew = ({ toolName }: Call): boolean => !results.some((result) => result.toolName === toolName);
  const next = plan(prompt, offered).map((turn) => turn.filter(isNew));
  const turn = next.find((calls) => calls.length > 0);
  return [{ type: 'stream-start', warnings: [] }, ...(turn ? callParts(turn, results.length) : textParts(results))];
}

/** What to call in each turn, in the order it is named. */
function plan(prompt: Prompt, offered: readonly FunctionTool[]): Call[][] {
  const instructions = prompt.flatMap((message) => (message.role === 'system' ? [message.content] : [])).join('\n');
  const wish = lastWish(prompt);
  const named = (text: string): { tool: FunctionTool; at: number }[] => {
    const mentions = Array.from(text.matchAll(/[\w-]+/g));
    return mentions.flatMap(({ 0: word, index: at }) =>
      offered.filter((tool) => tool.name === word).map((tool) => ({ tool, at })),
    );
  };
  return [
    ...turnsOf(
      instructions,
      named(instructions).map(({ tool }) => ({ tool, args: {} })),
    ),
    ...turnsOf(
      wish,
      named(wish).map(({ tool, at }) => ({ tool, args: objectAfter(wish, at + tool.name.length) })),
    ),
  ];
}

function turnsOf(text: string, named: readonly { tool: FunctionTool; args: Call['args'] }[]): Call[][] {
  const possible = named.filter(({ tool, args }) => hasRequired(tool, args));
  const calls = possible.map(({ tool, args }) => ({ toolName: tool.name, args }));
  if (!/\btogether\b/i.test(text)) return calls.map((call) => [call]);
  return [calls.filter(({ toolName }, at) => calls.findIndex((call) => call.toolName === toolName) === at)];
}

function lastWish(prompt: Prompt): string {
  const message = prompt.findLast(({ role }) => role === 'user');
  if (message?.role !== 'user') return '';
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}

function hasRequired(tool: FunctionTool, args: Readonly<Record<string, unknown>>): boolean {
  return (tool.inputSchema.required ?? []).every((name) => Object.hasOwn(args, name));
}

/** The JSON object that directly follows a position, else an empty one. */
function objectAfter(text: string, at: number): Readonly<Record<string, unknown>> {
  const start = /^\s*(?=\{)/.exec(text.slice(at));
  if (!start) return {};
  const from = at + start[0].length;
  for (let end = text.indexOf('}', from); end >= 0; end = text.indexOf('}', end + 1)) {
    try {
      return JSON.parse(text.slice(from, end + 1)) as Record<string, unknown>;
    } catch {
      // A closing brace further on may complete it.
    }
  }
  return {};
}

interface Result {
  readonly toolName: string;
  readonly value: unknown;
  readonly outcome: 'found' | 'failed' | 'denied';
}

/** Since the user spoke last, in the order of their calls: those of one turn come back in any. */
function resultsIn(conversation: Prompt): Result[] {
  const prompt = conversation.slice(conversation.findLastIndex(({ role }) => role === 'user') + 1);
  const results = new Map(
    prompt.flatMap((message) => (message.role === 'tool' ? message.content.flatMap(resultOf) : [])),
  );
  const calls = prompt.flatMap((message) => (message.role === 'assistant' ? message.content : []));
  return calls.flatMap((part) => (part.type === 'tool-call' ? (results.get(part.toolCallId) ?? []) : []));
}

type ToolContent = Extract<Prompt[number], { role: 'tool' }>['content'][number];

function resultOf(part: ToolContent): [string, Result][] {
  if (part.type !== 'tool-result') return [];
  const { toolCallId, toolName, output } = part;
  if (output.type === 'execution-denied') return [[toolCallId, { toolName, value: output.reason, outcome: 'denied' }]];
  const outcome = output.type.startsWith('error') ? 'failed' : 'found';
  return [[toolCallId, { toolName, value: output.value, outcome }]];
}

function callParts(calls: readonly Call[], before: number): Part[] {
  const parts = calls.flatMap(({ toolName, args }, at): Part[] => {
    const id = `local-${before + at + 1}`;
    const input = JSON.stringify(args);
    return [
      { type: 'tool-input-start', id, toolName },
      { type: 'tool-input-delta', id, delta: input },
      { type: 'tool-input-end', id },
      { type: 'tool-call', toolCallId: id, toolName, input },
    ];
  });
  return [...parts, { type: 'finish', usage: USAGE, finishReason: { unified: 'tool-calls', raw: 'tool_calls' } }];
}

function textParts(results: readonly Result[]): Part[] {
  const text = results.length === 0 ? NOTHING_TO_DO : results.map(inWords).filter(Boolean).join('\n');
  const words = text.match(/[\s\S]{1,60}(?:\s|$)|[\s\S]{1,60}/gu) ?? [text];
  return [
    { type: 'text-start', id: 'text' },
    ...words.map((delta) => ({ type: 'text-delta' as const, id: 'text', delta })),
    { type: 'text-end', id: 'text' },
    { type: 'finish', usage: USAGE, finishReason: { unified: 'stop', raw: 'stop' } },
  ];
}

function inWords({ toolName, value, outcome }: Result): string {
  if (outcome === 'failed') return `${titleOf(toolName)} failed: ${phrase(value)}`;
  if (outcome === 'denied') return `${titleOf(toolName)} was not allowed: ${phrase(value)}`;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return `${titleOf(toolName)}: ${phrase(value)}`;
  // Every text tool says which language it saw; once is enough, and the data has it.
  const found = Object.entries(value).filter(([name]) => name !== 'language');
  return found.map(([name, part]) => `${titleOf(name)}: ${phrase(part)}`).join('\n');
}

function titleOf(name: string): string {
  const spaced = name.replaceAll(/[_-]+/g, ' ');
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

function phrase(value: unknown): string {
  if (Array.isArray(value)) return value.map(phrase).join(', ');
  if (typeof value !== 'object' || value === null) return String(value);
  if ('text' in value) return phrase(value.text);
  return Object.entries(value)
    .map(([name, part]) => `${name} ${phrase(part)}`)
    .join(', ');
}
