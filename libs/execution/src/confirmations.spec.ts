import { describe, expect, it } from '@jest/globals';
import { canonicalJson, DEFAULT_CONFIRMATION_SECONDS, type ItemAnswer, PAYLOAD_MAX_BYTES } from '#lib/domain';
import { digestCall } from '#lib/platform';
import { createHash } from 'node:crypto';
import { draftPause, draftResumed, type OpenConfirmation } from './confirmations.js';

const sha256 = (value: unknown): string => createHash('sha256').update(canonicalJson(value)).digest('hex');

describe('a pause', () => {
  const ask = (tool_call_id: string, kind: OpenConfirmation['kind']): OpenConfirmation => ({ tool_call_id, kind });

  it('waits for each kind as long as its agent says, and for all of them until the first time is up', () => {
    const seconds = { ...DEFAULT_CONFIRMATION_SECONDS, question: 60, client_tool: 5 };
    const [asked, waiting] = draftPause([ask('a', 'question'), ask('b', 'client_tool'), ask('c', 'authorization')], {
      nowMs: 0,
      seconds,
    });
    const { wait_id, confirmations } = JSON.parse(asked!.json) as { wait_id: string; confirmations: object[] };
    expect(confirmations).toMatchObject([
      { tool_call_id: 'a', expires_at: '1970-01-01T00:01:00.000Z' },
      { tool_call_id: 'b', expires_at: '1970-01-01T00:00:05.000Z' },
      { tool_call_id: 'c', expires_at: '1970-01-02T00:00:00.000Z' },
    ]);
    expect(JSON.parse(waiting!.json)).toEqual({ wait_id, confirmations, expires_at: '1970-01-01T00:00:05.000Z' });
  });

  it('shows the arguments as they are, and their digest', () => {
    const args = { constructor: { toString: [1.5, null] }, text: '\u0000\ud800' };
    const item = { tool_call_id: 'a', kind: 'tool_confirmation', tool_name: 'send', arguments: args } as const;
    const [asked] = draftPause([item], { nowMs: 0 });
    const { confirmations } = JSON.parse(asked!.json) as { confirmations: object[] };
    expect(confirmations).toEqual([
      { ...item, digest: digestCall('send', args), expires_at: '1970-01-02T00:00:00.000Z' },
    ]);
  });

  it.each([
    ['for nothing', []],
    ['for two things by one id', [ask('a', 'question'), ask('a', 'client_tool')]],
    ['for what nobody knows', [ask('a', 'riddle' as 'question')]],
  ])('that waits %s is refused', (_, items) => {
    expect(() => draftPause(items, { nowMs: 0 })).toThrow(expect.objectContaining({ name: 'ProtocolError' }));
  });
});

describe('an accepted answer', () => {
  const decisionsOf = (items: readonly ItemAnswer[]): unknown => {
    const { json } = draftResumed({ waitId: 'w', decidedBy: 'ann', items });
    expect(Buffer.byteLength(json)).toBeLessThanOrEqual(PAYLOAD_MAX_BYTES);
    const { decisions, ...rest } = JSON.parse(json) as { decisions: unknown };
    expect(rest).toEqual({ wait_id: 'w', decided_by: 'ann' });
    return decisions;
  };

  it('is told whole', () => {
    const items: ItemAnswer[] = [
      { tool_call_id: 'a', approved: true, edited_args: { n: [1.5] } },
      { tool_call_id: 'b', output: null },
      { tool_call_id: 'c', input: 'x'.repeat(10_000) },
    ];
    expect(decisionsOf(items)).toEqual(items);
  });

  it('that is too long for an event is told by the digests of what is long', () => {
    const edited_args = { text: 'x'.repeat(20_000) };
    const error = 'é'.repeat(60);
    expect(
      decisionsOf([
        { tool_call_id: 'a', approved: true, reason: 'fine', edited_args },
        { tool_call_id: 'b', error },
      ]),
    ).toEqual([
      { tool_call_id: 'a', approved: true, reason: 'fine', digests: { edited_args: sha256(edited_args) } },
      { tool_call_id: 'b', error },
    ]);
  });

  it('that is too long even so is refused', () => {
    const items = Array.from({ length: 200 }, (_, index) => ({
      tool_call_id: `id-${index}`,
      approved: false,
      reason: 'x'.repeat(100 + index),
    }));
    expect(() => decisionsOf(items)).toThrow(expect.objectContaining({ name: 'ProtocolError' }));
  });
});
