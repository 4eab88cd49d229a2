import { describe, expect, it } from '@jest/globals';
import { encodeHeartbeat, type TaskId, type TaskKey } from '#lib/domain';
import fc from 'fast-check';
import { decodePayload, encodeLivePayload, encodeNewsPayloads, encodeSignalPayload } from './notify.codec.js';

const TASK_KEY = '0199b5a0-7c1e-7000-8000-00000000002a' as TaskKey;

describe('notifications of PostgreSQL', () => {
  it('carry any number of news in payloads that fit', () => {
    const item = fc.record({ taskKey: fc.uuid() as fc.Arbitrary<TaskKey>, fromSeq: fc.nat(), toSeq: fc.nat() });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 500 }), (news) => {
        const payloads = encodeNewsPayloads(news);
        expect(payloads.every((payload) => Buffer.byteLength(payload) <= 7_900)).toBe(true);
        const decoded = payloads.map(decodePayload);
        expect(decoded.flatMap((one) => (one.kind === 'news' ? one.news : []))).toEqual(news);
      }),
    );
  });

  it('carry signals and live frames, unless they are too large', () => {
    expect(decodePayload(encodeSignalPayload('runtime:a', 'cancel\n1') ?? '')).toEqual({
      kind: 'signal',
      channel: 'runtime:a',
      message: 'cancel\n1',
    });
    const text = encodeHeartbeat('task-1' as TaskId, 0, '{}').text;
    expect(decodePayload(encodeLivePayload(TASK_KEY, text) ?? '')).toEqual({ kind: 'live', taskKey: TASK_KEY, text });
    expect(encodeLivePayload(TASK_KEY, 'é'.repeat(4_000))).toBeUndefined();
  });
});
