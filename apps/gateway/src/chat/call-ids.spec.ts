import { describe, expect, it } from '@jest/globals';
import type { TaskKey } from '#lib/domain';
import { decodeCallId, encodeCallId } from './call-ids.js';

const taskKey = '01a22e55-6c35-70ba-8fc3-fc94469cbdd4' as TaskKey;

describe('the id of a call', () => {
  it.each([0, 63, 'approval'] as const)('says which wait of which task it is about, in 40 characters (%s)', (place) => {
    const id = encodeCallId({ taskKey, seq: 2_000_000_000, place });
    expect(id.length).toBeLessThanOrEqual(40);
    expect(decodeCallId(id)).toEqual({ taskKey, seq: 2_000_000_000, place });
  });

  it.each(['call_1', '', 'call_AAAAAAAAAAAAAAAAAAAAA_1_1', 'call_AAAAAAAAAAAAAAAAAAAAAA_1_a1b'])(
    'is none of ours: %s',
    (id) => {
      expect(decodeCallId(id)).toBeUndefined();
    },
  );
});
