import { describe, expect, it } from '@jest/globals';
import type { AnswerRequest, PendingItem } from '#lib/domain';
import { digestValue } from '#lib/platform';
import { isRecorded } from './recorded-answers.js';

const call: PendingItem = { tool_call_id: 'c', kind: 'tool_confirmation', tool_name: 'send' };
const question: PendingItem = { tool_call_id: 'q', kind: 'question' };
const own: PendingItem = { tool_call_id: 'o', kind: 'client_tool', tool_name: 'look' };

const decided = (approved: boolean, more: object = {}): AnswerRequest => ({
  decisions: [{ tool_call_id: 'c', approved, ...more }],
  results: [],
});
const resulted = (id: string, result: object): AnswerRequest => ({
  decisions: [],
  results: [{ tool_call_id: id, ...result }],
});

describe('an answer that comes again', () => {
  it('is the recorded one when it decides the same, in whatever words', () => {
    expect(isRecorded([{ tool_call_id: 'c', approved: false, reason: 'no' }], [call], decided(false))).toBe(true);
    expect(isRecorded([{ tool_call_id: 'c', approved: true }], [call], decided(false))).toBe(false);
  });

  it('is another one when it changes the arguments otherwise', () => {
    const recorded = [{ tool_call_id: 'c', approved: true, edited_args: { to: 'a' } }];
    expect(isRecorded(recorded, [call], decided(true, { edited_args: { to: 'a' } }))).toBe(true);
    expect(isRecorded(recorded, [call], decided(true, { edited_args: { to: 'b' } }))).toBe(false);
    expect(isRecorded(recorded, [call], decided(true))).toBe(false);
  });

  it('is another one when it says something else to the only question', () => {
    const recorded = [{ tool_call_id: 'q', input: 'blue' }];
    const said = (input: string): AnswerRequest => ({ decisions: [], results: [], input });
    expect(isRecorded(recorded, [question], said('blue'))).toBe(true);
    expect(isRecorded(recorded, [question], resulted('q', { output: 'blue' }))).toBe(true);
    expect(isRecorded(recorded, [question], said('red'))).toBe(false);
  });

  it('is another one when a tool of the caller gave something else, or failed', () => {
    const recorded = [{ tool_call_id: 'o', output: { a: 1 } }];
    expect(isRecorded(recorded, [own], resulted('o', { output: { a: 1 } }))).toBe(true);
    expect(isRecorded(recorded, [own], resulted('o', { output: { a: 2 } }))).toBe(false);
    expect(isRecorded(recorded, [own], resulted('o', { error: 'broken' }))).toBe(false);
  });

  it('is known by its digest where it was too long to be recorded', () => {
    const recorded = [{ tool_call_id: 'o', digests: { output: digestValue('long') } }];
    expect(isRecorded(recorded, [own], resulted('o', { output: 'long' }))).toBe(true);
    expect(isRecorded(recorded, [own], resulted('o', { output: 'longer' }))).toBe(false);
  });
});
