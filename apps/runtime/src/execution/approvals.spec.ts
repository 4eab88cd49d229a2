import { describe, expect, it } from '@jest/globals';
import { digestCall } from '#lib/execution';
import { Approvals } from './approvals.js';

const asked = ['a', 'b'].map((toolCallId) => ({
  toolCallId,
  toolName: 'pay',
  digest: digestCall('pay', { to: toolCallId }),
}));

const approvals = (...decisions: object[]): Approvals =>
  new Approvals({ asked, answer: JSON.stringify({ decisions, results: [] }) });

describe('an approval', () => {
  it('is good for the call that was shown, once', () => {
    const given = approvals({ tool_call_id: 'a', approved: true });
    expect(given.take('pay', { to: 'b' })).toBe(false);
    expect(given.take('refund', { to: 'a' })).toBe(false);
    expect(given.take('pay', { to: 'a' })).toBe(true);
    expect(given.take('pay', { to: 'a' })).toBe(false);
  });

  it('of edited arguments is good for those and no longer for the ones that were shown', () => {
    const given = approvals({ tool_call_id: 'a', approved: true, edited_args: { to: 'c' } });
    expect(given.take('pay', { to: 'a' })).toBe(false);
    expect(given.take('pay', { to: 'c' })).toBe(true);
  });

  it.each([
    ['a denial', { tool_call_id: 'a', approved: false }],
    ['anything but true', { tool_call_id: 'a', approved: 'true' }],
    ['a call nobody asked about', { tool_call_id: 'x', approved: true }],
  ])('is not found in %s', (_what, decision) => {
    expect(approvals(decision).take('pay', { to: 'a' })).toBe(false);
  });

  it('is not there before anybody was asked', () => {
    expect(new Approvals({ asked: [], answer: null }).take('pay', {})).toBe(false);
  });
});
