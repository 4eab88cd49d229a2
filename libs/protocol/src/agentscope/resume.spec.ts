import { describe, expect, it } from '@jest/globals';
import { DENIAL } from '#lib/domain';
import { decideAll, decodeResume } from './resume.js';

const PENDING = [{ tool_call_id: 'a' }, { tool_call_id: 'b' }];
const decide = (decisions: unknown): unknown =>
  decideAll(PENDING, decodeResume({ decisions })).map(({ tool_call_id, approved, reason }) =>
    approved === true ? `${tool_call_id} yes` : `${tool_call_id} ${reason}`,
  );

describe('an answer', () => {
  it.each([
    ['no list at all', undefined],
    ['a list in its place', 'yes'],
    ['items that name nothing', [null, 7, {}, { approved: true }, { toolCallId: 7, approved: true }]],
    ['one for something else', [{ toolCallId: 'c', approved: true }]],
  ])('of %s denies everything', (_what, decisions) => {
    expect(decide(decisions)).toEqual([`a ${DENIAL}`, `b ${DENIAL}`]);
  });

  it.each([1, 'yes', 'truth', ['true'], {}, null, 'false'])('is a denial when approved is %j', (approved) => {
    expect(decide([{ toolCallId: 'a', approved }])).toEqual([`a ${DENIAL}`, `b ${DENIAL}`]);
  });

  it('approves by true or the word, under either name, and the later one of two stands', () => {
    expect(
      decide([
        { toolCallId: 'a', approved: true },
        { tool_call_id: 'b', approved: 'True' },
      ]),
    ).toEqual([...['a yes', 'b yes']]);
    expect(
      decide([
        { toolCallId: 'a', approved: true },
        { toolCallId: 'a', approved: false, reason: 'no' },
      ]),
    ).toEqual([...['a no', `b ${DENIAL}`]]);
  });

  it('is refused when it is no object, or says too much', () => {
    expect(() => decodeResume([])).toThrow('must be an object');
    const decisions = [{ toolCallId: 'a' }, { toolCallId: 'b', reason: 'x'.repeat(4_097) }];
    expect(() => decodeResume({ decisions })).toThrow('/decisions/1/reason');
  });
});
