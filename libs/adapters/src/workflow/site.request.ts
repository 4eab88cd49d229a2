import { AdapterError } from '../contract/index.js';

/** The request in a task's input, or in an answer: a string, `{request}`, or parts of text. */
export function requestOf(input: unknown): string {
  const text = textOf(input).trim();
  if (text === '') throw new AdapterError('rejected', 'The input holds no request.', { effects: 'none' });
  return text;
}

function textOf(input: unknown): string {
  if (typeof input === 'string') return input;
  if (Array.isArray(input))
    return input
      .map(textOf)
      .filter((text) => text !== '')
      .join('\n');
  if (typeof input !== 'object' || input === null) return '';
  const { request, text, data } = input as Record<string, unknown>;
  const found = request ?? text;
  return typeof found === 'string' ? found : data === undefined ? '' : textOf(data);
}
