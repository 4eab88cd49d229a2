import { describe, expect, it } from '@jest/globals';
import type { CallerConversation } from '#lib/domain';
import { callerInstructions } from './caller-messages.js';
import { Conversation } from './conversation.js';

const LIMITS = { input: 1_000, output: 10, messages: 10_000, history: 10_000 };
const CALL = { tool_call_id: 'call_9', tool_name: 'look', arguments: { at: 'depot' } };
const told: CallerConversation = {
  before: [
    { role: 'system', text: 'Be brief.' },
    { role: 'user', text: 'Where are the trams?' },
    { role: 'assistant', text: 'I look.', tool_calls: [CALL, { ...CALL, tool_call_id: 'open' }] },
    { role: 'tool', tool_call_id: 'call_9', output: 'all of them are there' },
    { role: 'assistant', text: 'At the depot.' },
  ],
  after: [
    { role: 'assistant', tool_calls: [CALL] },
    { role: 'tool', tool_call_id: 'call_9', output: { seen: 3 } },
  ],
};
const exchange = (name: string, more: object[] = []): object[] => [
  {
    role: 'assistant',
    content: [...more, { type: 'tool-call', toolCallId: name, toolName: 'look', input: { at: 'depot' } }],
  },
];
const result = (toolCallId: string, output: object): object => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId, toolName: 'look', output }],
});

describe('what a caller says came before', () => {
  it('stands around the input, calls without a result left out and long outputs cut', () => {
    expect(Conversation.begin('And the buses?', LIMITS, { callerConversation: told }).messages).toEqual([
      { role: 'user', content: 'Where are the trams?' },
      ...exchange('earlier_1', [{ type: 'text', text: 'I look.' }]),
      result('earlier_1', { type: 'text', value: 'all of the' }),
      { role: 'assistant', content: [{ type: 'text', text: 'At the depot.' }] },
      { role: 'user', content: 'And the buses?' },
      ...exchange('given_1'),
      result('given_1', { type: 'json', value: { seen: 3 } }),
    ]);
  });

  it('gives way to what the session remembers', () => {
    const conversation = { messages: [{ role: 'user', content: 'Remembered.' }], leftOut: 2 };
    const begun = Conversation.begin('Go on.', LIMITS, { conversation, callerConversation: { ...told, after: [] } });
    expect(begun.messages.map(({ content }) => content)).toEqual(['Remembered.', 'Go on.']);
    expect(begun.omitted.exchanges).toBe(2);
  });

  it('is bounded by leaving out whole exchanges, the oldest', () => {
    const many = Array.from({ length: 50 }, (_, at) => ({ role: 'user' as const, text: `Question ${at}` }));
    const begun = Conversation.begin(
      'Now.',
      { ...LIMITS, history: 200 },
      { callerConversation: { before: many, after: [] } },
    );
    expect(begun.messages.at(-2)).toEqual({ role: 'user', content: 'Question 49' });
    expect(begun.messages.length + begun.omitted.exchanges).toBe(51);
    expect(begun.omitted.exchanges).toBeGreaterThan(40);
  });

  it('tells instructions apart', () => {
    expect(callerInstructions(told)).toEqual(['Be brief.']);
  });
});
