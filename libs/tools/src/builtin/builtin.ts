import type { Tool, ToolCall } from '../contract/tool.js';

/** What a built-in tool needs to know of the call beside its arguments. */
export type BuiltinCall = Pick<ToolCall, 'input' | 'signal'>;

/** A tool that runs inside the process. Its arguments were checked against `parameters` before. */
export interface BuiltinTool extends Pick<Tool, 'name' | 'description' | 'parameters' | 'idempotent'> {
  /** Resolves with JSON; rejects with the signal's reason when aborted, with a TypeError when there is no text. */
  execute(args: Readonly<Record<string, unknown>>, call: BuiltinCall): Promise<unknown>;
}

/**
 * Schema of the argument every text tool has. Leaving it out means the task's own input, so that a text of a megabyte
 * need not travel through a model's arguments and the event log.
 */
export const TEXT_PARAMETER = {
  type: 'string',
  description: 'The text to work on. Leave it out to use the whole input of the task.',
} as const;

/** The text a call is about: its `text` argument, else the text in the task's input. */
export function textOf(args: Readonly<Record<string, unknown>>, input: unknown): string {
  if (typeof args['text'] === 'string') return args['text'];
  const text = textOfInput(input);
  if (text === undefined) throw new TypeError('there is no text: neither an argument nor in the input of the task');
  return text;
}

function textOfInput(input: unknown): string | undefined {
  if (typeof input === 'string') return input;
  if (Array.isArray(input)) {
    const texts = input.map(textOfInput).filter((text) => text !== undefined);
    return texts.length > 0 ? texts.join('\n\n') : undefined;
  }
  if (typeof input !== 'object' || input === null) return undefined;
  const { type, text, data } = input as { readonly type?: unknown; readonly text?: unknown; readonly data?: unknown };
  if (typeof text === 'string') return text;
  return type === 'data' ? textOfInput(data) : undefined;
}
