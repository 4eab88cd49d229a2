import { describe, expect, it } from '@jest/globals';
import type { ModelMessage } from 'ai';
import type { RunnerAnswer } from '../contract/index.js';
import { pauseOf, type WaitingCall, withAnswer } from './waiting.js';

const call = (toolCallId: string, input: unknown) =>
  ({ type: 'tool-call', toolCallId, toolName: 'pay', input }) as const;
const asked = (toolCallId: string, approvalId: string) =>
  ({ type: 'tool-approval-request', approvalId, toolCallId }) as const;

const waiting: readonly WaitingCall[] = [
  { id: 'call_1_2', upstreamId: 'c', toolName: 'pay', args: { to: 'b' }, approvalId: 'A' },
  { id: 'call_1_3', upstreamId: 'd', toolName: 'look', args: {} },
];
/** An endpoint that used the id of the waiting call before. */
const messages: readonly ModelMessage[] = [
  { role: 'user', content: 'pay' },
  { role: 'assistant', content: [call('c', { to: 'a' })] },
  {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'pay', output: { type: 'text', value: 'paid' } }],
  },
  {
    role: 'assistant',
    content: [call('c', { to: 'b' }), call('d', {}), { ...asked('c', 'A'), inputSchemaInput: { to: ' b' } }],
  },
];

const answered = (answer: RunnerAnswer | undefined) => withAnswer(messages, waiting, { answer, limit: 30 });

describe('what a run asks for', () => {
  it('is an approval where the framework wants one, else a result of the caller', () => {
    expect(pauseOf(waiting).confirmations).toEqual([
      { tool_call_id: 'call_1_2', kind: 'tool_confirmation', tool_name: 'pay', arguments: { to: 'b' } },
      { tool_call_id: 'call_1_3', kind: 'client_tool', tool_name: 'look', arguments: {} },
    ]);
  });
});

describe('the answer in a conversation', () => {
  it('is a response to each approval request and a result of each client-side call, behind the messages', () => {
    const { messages: after, events } = answered({
      decisions: [{ tool_call_id: 'call_1_2', approved: true }],
      results: [{ tool_call_id: 'call_1_3', output: { seen: 1 } }],
    });
    expect(after.slice(0, -1)).toEqual(messages);
    expect(after.at(-1)).toEqual({
      role: 'tool',
      content: [
        { type: 'tool-approval-response', approvalId: 'A', approved: true },
        { type: 'tool-result', toolCallId: 'd', toolName: 'look', output: { type: 'json', value: { seen: 1 } } },
      ],
    });
    expect(events).toEqual([
      { type: 'tool.completed', payload: { tool_call_id: 'call_1_3', tool_name: 'look', output: { seen: 1 } } },
    ]);
  });

  it('replaces the arguments of the waiting call alone, whole, and forgets what they were parsed from', () => {
    const { messages: after } = answered({
      decisions: [{ tool_call_id: 'call_1_2', approved: true, edited_args: { amount: 1 } }],
      results: [],
    });
    expect(after[1]).toEqual(messages[1]);
    expect(after[3]?.content).toEqual([call('c', { amount: 1 }), call('d', {}), asked('c', 'A')]);
    expect(messages[3]?.content).toContainEqual(call('c', { to: 'b' }));
  });

  it.each([
    ['a reason', { approved: false, reason: 'not him' }, 'not him'],
    ['no reason', { approved: false }, 'Permission denied by user'],
    [
      'arguments that were edited all the same',
      { approved: false, edited_args: { to: 'c' } },
      'Permission denied by user',
    ],
    ['what is not the boolean true', { approved: 1 as unknown as boolean }, 'Permission denied by user'],
  ])('denies with %s', (_what, decision, reason) => {
    const { messages: after } = answered({ decisions: [{ tool_call_id: 'call_1_2', ...decision }], results: [] });
    expect(after[3]).toEqual(messages[3]);
    expect(after.at(-1)?.content).toContainEqual({
      type: 'tool-approval-response',
      approvalId: 'A',
      approved: false,
      reason,
    });
  });

  it('denies and reports as missing what there is no answer to', () => {
    const { messages: after, events } = answered(undefined);
    expect(after.at(-1)?.content).toMatchObject([
      { approved: false },
      { output: { type: 'error-text', value: 'The caller gave no result.' } },
    ]);
    expect(events).toMatchObject([{ type: 'tool.failed', payload: { error: { code: 'failed' } } }]);
  });

  it('keeps an error of the caller within what an event can hold', () => {
    const error = `\0${'e'.repeat(20_000)}`;
    const { events } = answered({ decisions: [], results: [{ tool_call_id: 'call_1_3', error }] });
    expect(events).toMatchObject([{ payload: { error: { message: `\uFFFD${'e'.repeat(999)}` } } }]);
  });

  it('shows the model the beginning of a long result and counts the rest', () => {
    const { events, omitted } = answered({
      decisions: [],
      results: [{ tool_call_id: 'call_1_3', output: 'y'.repeat(40) }],
    });
    expect(omitted).toBe(12);
    expect(events).toMatchObject([{ payload: { output: 'y'.repeat(40) } }]);
  });
});
