import { describe, expect, it } from '@jest/globals';
import { type AgentDeclaration, isDomainError } from '#lib/domain';
import { checkInstructions, readCallerConversation } from './caller-conversation.check.js';

function faultsOf(caller_conversation: unknown): readonly string[] {
  try {
    readCallerConversation({ caller_conversation });
    return [];
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return error.faults.map(({ path }) => path.replace('/context/caller_conversation', ''));
  }
}

const CALL = { tool_call_id: 'c1', tool_name: 'look', arguments: {} };

describe('the conversation of a caller', () => {
  it('is both sides of the input, either of which may be absent', () => {
    expect(readCallerConversation({})).toBeUndefined();
    const before = [
      { role: 'user', text: 'Hi.' },
      { role: 'assistant', text: 'Hm.', tool_calls: [CALL] },
      { role: 'tool', tool_call_id: 'c1', output: null },
    ];
    expect(readCallerConversation({ caller_conversation: { before } })).toEqual({ before, after: [] });
  });

  it.each([
    ['a text', 'Hi.', ''],
    ['a member nobody knows', { between: [] }, '/between'],
    ['no list', { before: {} }, '/before'],
    ['too many messages', { after: Array.from({ length: 4_097 }, () => ({})) }, '/after'],
    ['a role nobody has', { before: [{ role: 'robot' }] }, '/before/0/role'],
    ['a message without its text', { before: [{ role: 'user' }] }, '/before/0/text'],
    ['a result without an output', { after: [{ role: 'tool', tool_call_id: 'c1' }] }, '/after/0/output'],
    [
      'a call without a name',
      { after: [{ role: 'assistant', tool_calls: [{ ...CALL, tool_name: '' }] }] },
      '/after/0/tool_calls/0/tool_name',
    ],
  ])('%s is refused at its place', (_, value, path) => {
    expect(faultsOf(value)).toEqual([path]);
  });

  it('holds instructions only for agents that take them', () => {
    const conversation = readCallerConversation({
      caller_conversation: { before: [{ role: 'system', text: 'Be brief.' }] },
    });
    const agent = { id: 'a' } as AgentDeclaration;
    expect(() => checkInstructions({ ...agent, callerInstructions: true }, conversation)).not.toThrow();
    expect(() => checkInstructions(agent, conversation)).toThrow(/takes no instructions of callers/);
  });
});
