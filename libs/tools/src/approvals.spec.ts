import { describe, expect, it } from '@jest/globals';
import type { AskedCall } from '#lib/domain';
import { digestCall, digestValue } from '#lib/platform';
import { Approvals } from './approvals.js';

const asked = (toolCallId: string, decision: object, usedBy: string | null = null): AskedCall => ({
  toolCallId,
  toolName: 'pay',
  digest: digestCall('pay', { to: toolCallId }),
  decision: JSON.stringify({ tool_call_id: toolCallId, ...decision }),
  waitId: 'w1',
  decidedBy: 'alice',
  usedBy,
});
const call = (to: string, change: object = {}) => ({ toolName: 'pay', args: { to }, toolCallId: 'c', ...change });
const yes = (id: string) => expect.objectContaining({ place: `w1/${id}`, approvedBy: 'alice' });

describe('an approval', () => {
  it('is good for the call that was shown, once', () => {
    const given = new Approvals([asked('a', { approved: true })]);
    expect(given.take(call('b'))).toBe('not_approved');
    expect(given.take(call('a', { toolName: 'refund' }))).toBe('not_approved');
    expect(given.take(call('a'))).toEqual(yes('a'));
    expect(given.take(call('a'))).toBe('approval_used');
  });

  it('is not good for other arguments under the same id, and that is said', () => {
    const given = new Approvals([asked('a', { approved: true })]);
    expect(given.take(call('b', { toolCallId: 'a' }))).toBe('changed');
  });

  it.each([
    ['whole', { edited_args: { to: 'c' } }],
    ['by their digest', { digests: { edited_args: digestValue({ to: 'c' }) } }],
  ])('of edited arguments, kept %s, is good for those and no longer for what was shown', (_how, edit) => {
    const given = new Approvals([asked('a', { approved: true, ...edit })]);
    expect(given.take(call('a'))).toBe('not_approved');
    expect(given.take(call('c', { toolName: 'refund' }))).toBe('not_approved');
    expect(given.take(call('c'))).toEqual(yes('a'));
    expect(given.take(call('c'))).toBe('approval_used');
  });

  it('does not depend on the order of members', () => {
    const given = new Approvals([asked('a', { approved: true, edited_args: { x: 1, y: 2 } })]);
    expect(given.take(call('', { args: { y: 2, x: 1 } }))).toEqual(yes('a'));
  });

  it.each([
    ['a denial', { approved: false }],
    ['anything but true', { approved: 'true' }],
    ['an answer that does not decide', { output: 'x' }],
  ])('is not found in %s', (_what, decision) => {
    expect(new Approvals([asked('a', decision)]).take(call('a'))).toBe('not_approved');
  });

  it('is counted as often as it was given', () => {
    const one = asked('a', { approved: true });
    const given = new Approvals([one, one, asked('b', { approved: false })]);
    expect([1, 2, 3].map(() => given.take(call('a')))).toEqual([yes('a'), yes('a'), 'approval_used']);
  });

  it('that an earlier run has used stays used, except for the very call that is made again', () => {
    const given = new Approvals([asked('a', { approved: true }, 'call_2_1')]);
    expect(given.take(call('a'))).toBe('approval_used');
    expect(given.usedFor(call('a'))).toBeUndefined();
    expect(given.usedFor(call('a', { repeats: 'call_2_2' }))).toBeUndefined();
    expect(given.usedFor(call('b', { repeats: 'call_2_1' }))).toBeUndefined();
    expect(given.usedFor(call('a', { repeats: 'call_2_1' }))).toEqual(yes('a'));
  });
});
