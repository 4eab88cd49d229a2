import { describe, expect, it } from '@jest/globals';
import type { ModelMessage } from 'ai';
import { remember } from './history.js';

const user = (content: string): ModelMessage => ({ role: 'user', content });
const says = (text: string): ModelMessage => ({ role: 'assistant', content: [{ type: 'text', text }] });
const calls = (...ids: string[]): ModelMessage => ({
  role: 'assistant',
  content: ids.map((toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 'add', input: { a: 1 } })),
});
const results = (...ids: string[]): ModelMessage => ({
  role: 'tool',
  content: ids.map((toolCallId) => ({
    type: 'tool-result',
    toolCallId,
    toolName: 'add',
    output: { type: 'json', value: toolCallId },
  })),
});
const sizeOf = (messages: readonly ModelMessage[]): number => JSON.stringify([...messages]).length;

describe('remember', () => {
  it('keeps questions, answers, calls and results in their order', () => {
    const { messages, leftOut } = remember([user('q'), calls('a', 'b'), results('b', 'a'), says('r')], 10_000);
    expect(messages).toEqual([
      user('q'),
      calls('earlier_1', 'earlier_2'),
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'earlier_2', toolName: 'add', output: { type: 'json', value: 'b' } },
          { type: 'tool-result', toolCallId: 'earlier_1', toolName: 'add', output: { type: 'json', value: 'a' } },
        ],
      },
      says('r'),
    ]);
    expect(leftOut).toBe(0);
  });

  it('tells apart calls that an endpoint gave the same id', () => {
    const { messages } = remember([user('q'), calls('c'), results('c'), calls('c'), results('c'), says('r')], 10_000);
    const ids = messages.flatMap(({ content }) =>
      typeof content === 'string' ? [] : content.flatMap((part) => ('toolCallId' in part ? [part.toolCallId] : [])),
    );
    expect(ids).toEqual(['earlier_1', 'earlier_1', 'earlier_2', 'earlier_2']);
  });

  it('leaves out thoughts, approvals and calls that were never answered', () => {
    const { messages } = remember(
      [
        user('q'),
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'hm' },
            { type: 'text', text: '' },
            { type: 'tool-call', toolCallId: 'open', toolName: 'add', input: {} },
            { type: 'tool-approval-request', approvalId: 'ap', toolCallId: 'open' },
          ],
        },
        { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'ap', approved: false }] },
        says('denied'),
      ],
      10_000,
    );
    expect(messages).toEqual([user('q'), says('denied')]);
  });

  it('changes nothing more when what it kept is kept again', () => {
    const once = remember([user('q'), calls('x'), results('x'), says('r')], 10_000);
    const twice = remember(once.messages, 10_000, once.leftOut);
    expect(twice).toEqual(remember(twice.messages, 10_000, twice.leftOut));
    expect(twice.messages.map(({ role }) => role)).toEqual(once.messages.map(({ role }) => role));
  });

  it('stays within its bound by leaving out the oldest exchanges, whole, and counts them', () => {
    const exchange = (n: number): ModelMessage[] => [
      user(`question ${n}`),
      calls(`c${n}`),
      results(`c${n}`),
      says('r'),
    ];
    const all = Array.from({ length: 10 }, (_, n) => exchange(n));
    const limit = Math.ceil(sizeOf(exchange(0)) * 3.5);
    const { messages, leftOut } = remember(all.flat(), limit, 4);
    expect(messages.filter(({ role }) => role === 'user')).toEqual([
      user('question 7'),
      user('question 8'),
      user('question 9'),
    ]);
    expect(messages).toHaveLength(12);
    expect(leftOut).toBe(11);
    expect(sizeOf(messages)).toBeLessThanOrEqual(limit);
  });

  it('forgets an exchange that alone is over the bound', () => {
    expect(remember([user('q'), says('x'.repeat(500))], 100)).toEqual({ messages: [], leftOut: 1 });
  });
});
