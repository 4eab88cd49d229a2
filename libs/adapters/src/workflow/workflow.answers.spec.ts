import { describe, expect, it } from '@jest/globals';
import { answersTo, checkpointOf, confirmationOf, pauseItems } from './workflow.answers.js';

const waiting = { checkpoint_id: 'c1', waiting: [{ tool_call_id: 'ask_1_1', interrupt_id: 'i1' }] };
const answers = (answer: Parameters<typeof answersTo>[1]) => answersTo(waiting, answer)?.i1;
const decided = { tool_call_id: 'ask_1_1', approved: true };

describe('a question in a pause', () => {
  it('shows what the workflow proposes, as a question', () => {
    expect(confirmationOf({ id: 'i', question: { prompt: 'Build?', arguments: { title: 'T' } } }, 'q')).toEqual({
      tool_call_id: 'q',
      kind: 'question',
      prompt: 'Build?',
      arguments: { title: 'T' },
    });
  });

  it('is a call to be confirmed when it says so', () => {
    const question = { kind: 'tool_confirmation', tool_name: 'pay', arguments: { to: 'a' }, kindness: 1 };
    expect(confirmationOf({ id: 'i', question }, 'q')).toEqual({
      tool_call_id: 'q',
      kind: 'tool_confirmation',
      tool_name: 'pay',
      arguments: { to: 'a' },
    });
  });

  it('may be a mere text, and holds nothing that cannot be stored', () => {
    expect(confirmationOf({ id: 'i', question: 'Go\0 on\uD83D?' }, 'q')).toEqual({
      tool_call_id: 'q',
      kind: 'question',
      prompt: 'Go\uFFFD on\uFFFD?',
    });
  });

  it('comes after a checkpoint that names where to go on and which question is which', () => {
    const questions = ['i1', 'i2'].map((id) => ({ id, question: id }));
    expect(pauseItems(questions, { checkpointId: 'c7', runNo: 3 })).toEqual([
      {
        kind: 'checkpoint',
        data: {
          checkpoint_id: 'c7',
          waiting: [
            { tool_call_id: 'ask_3_1', interrupt_id: 'i1' },
            { tool_call_id: 'ask_3_2', interrupt_id: 'i2' },
          ],
        },
      },
      { kind: 'pause', confirmations: [expect.objectContaining({ tool_call_id: 'ask_3_1' }), expect.anything()] },
    ]);
    expect(() => pauseItems(questions, { checkpointId: undefined, runNo: 1 })).toThrow('before it had stored anything');
  });
});

describe('an answer to a question', () => {
  it.each([
    ['accepts what was proposed', { decisions: [decided], results: [] }, { approved: true }],
    ['says something else', { decisions: [], input: 'blue', results: [] }, { approved: false, input: 'blue' }],
    [
      'says something else though it approves',
      { decisions: [decided], input: 'blue', results: [] },
      { approved: false, input: 'blue' },
    ],
    [
      'is a result of its own, which goes before what is said to all',
      { decisions: [], input: 'blue', results: [{ tool_call_id: 'ask_1_1', output: 'red' }] },
      { approved: false, output: 'red' },
    ],
    [
      'denies with a reason',
      { decisions: [{ ...decided, approved: false, reason: 'no' }], results: [] },
      { approved: false, reason: 'no' },
    ],
    [
      'edits what is to be confirmed',
      { decisions: [{ ...decided, edited_args: { to: 'b' } }], results: [] },
      { approved: true, edited_args: { to: 'b' } },
    ],
    [
      'is about another question',
      { decisions: [{ ...decided, tool_call_id: 'ask_0_1' }], results: [] },
      { approved: false },
    ],
  ])('that %s reaches the stage as that', (_what, answer, expected) => {
    expect(answers(answer)).toEqual(expected);
  });

  it('belongs to a checkpoint that waits, and to no other', () => {
    const answer = { decisions: [decided], results: [] };
    expect(answersTo({ checkpoint_id: 'c2' }, answer)).toBeUndefined();
    expect(answersTo(undefined, answer)).toBeUndefined();
    expect(answersTo(waiting, undefined)).toBeUndefined();
    expect(checkpointOf({ checkpoint: waiting })).toBe(waiting);
  });
});
