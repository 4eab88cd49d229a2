import { describe, expect, it } from '@jest/globals';
import type { ModelMessage } from 'ai';
import fc from 'fast-check';
import { trim } from './trimming.js';

const call = (toolCallId: string) => ({ type: 'tool-call', toolCallId, toolName: 't', input: {} }) as const;
const result = (toolCallId: string, value: string) =>
  ({ type: 'tool-result', toolCallId, toolName: 't', output: { type: 'text', value } }) as const;

/** A conversation with one turn for each size: a call and a result of that many characters. */
function conversation(sizes: readonly number[]): ModelMessage[] {
  return [
    { role: 'user', content: 'the wish' },
    ...sizes.flatMap((size, at): ModelMessage[] => [
      { role: 'assistant', content: [call(`c${at}`)] },
      { role: 'tool', content: [result(`c${at}`, 'x'.repeat(size))] },
    ]),
  ];
}

const sizeOf = (messages: readonly ModelMessage[]): number =>
  messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);

describe('trim', () => {
  it('leaves a conversation within its bound as it is', () => {
    const messages = conversation([10, 10]);
    expect(trim(messages, 10_000)).toEqual({ messages, turns: 0 });
  });

  it('keeps the wish and the last turn even when they are too large', () => {
    const messages = conversation([10, 5_000]);
    expect(trim(messages, 100)).toEqual({ messages: [messages[0], ...messages.slice(3)], turns: 1 });
  });

  it('leaves out whole turns, oldest first, and no more than it must', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(300), { minLength: 1, maxLength: 12 }), fc.nat(4_000), (sizes, limit) => {
        const messages = conversation(sizes);
        const { messages: kept, turns } = trim(messages, limit);
        expect(kept).toEqual([messages[0], ...messages.slice(1 + 2 * turns)]);
        expect(turns === sizes.length - 1 || sizeOf(kept) <= limit).toBe(true);
        expect(turns === 0 || sizeOf([messages[0]!, ...messages.slice(2 * turns - 1)]) > limit).toBe(true);
      }),
    );
  });
});
