import { describe, expect, it } from '@jest/globals';
import { digestCall, digestValue } from '#lib/execution';
import { Approvals } from './approvals.js';

const asked = (toolCallId: string, decision: object) => ({
  toolCallId,
  toolName: 'pay',
  digest: digestCall('pay', { to: toolCallId }),
  decision: JSON.stringify({ tool_call_id: toolCallId, ...decision }),
});

describe('an approval', () => {
  it('is good for the call that was shown, once', () => {
    const given = new Approvals([asked('a', { approved: true })]);
    expect(given.take('pay', { to: 'b' })).toBe(false);
    expect(given.take('refund', { to: 'a' })).toBe(false);
    expect(given.take('pay', { to: 'a' })).toBe(true);
    expect(given.take('pay', { to: 'a' })).toBe(false);
  });

  it.each([
    ['whole', { edited_args: { to: 'c' } }],
    ['by their digest', { digests: { edited_args: digestValue({ to: 'c' }) } }],
  ])('of edited arguments, kept %s, is good for those and no longer for what was shown', (_how, edit) => {
    const given = new Approvals([asked('a', { approved: true, ...edit })]);
    expect(given.take('pay', { to: 'a' })).toBe(false);
    expect(given.take('refund', { to: 'c' })).toBe(false);
    expect(given.take('pay', { to: 'c' })).toBe(true);
    expect(given.take('pay', { to: 'c' })).toBe(false);
  });

  it('does not depend on the order of members', () => {
    const given = new Approvals([asked('a', { approved: true, edited_args: { x: 1, y: 2 } })]);
    expect(given.take('pay', { y: 2, x: 1 })).toBe(true);
  });

  it.each([
    ['a denial', { approved: false }],
    ['anything but true', { approved: 'true' }],
    ['an answer that does not decide', { output: 'x' }],
  ])('is not found in %s', (_what, decision) => {
    expect(new Approvals([asked('a', decision)]).take('pay', { to: 'a' })).toBe(false);
  });

  it('is counted as often as it was given', () => {
    const call = asked('a', { approved: true });
    const given = new Approvals([call, call, asked('b', { approved: false })]);
    expect([1, 2, 3].map(() => given.take('pay', { to: 'a' }))).toEqual([true, true, false]);
  });
});
