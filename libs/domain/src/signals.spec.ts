import { describe, expect, it } from '@jest/globals';
import type { TaskKey } from './ids.js';
import { decodeRunSignal, encodeRunSignal, runtimeChannel } from './signals.js';

const taskKey = '0197a2b4-5c6d-7e8f-9a0b-1c2d3e4f5061' as TaskKey;

describe('a signal to a runtime', () => {
  it('reads back as it was written', () => {
    const signal = { kind: 'cancel', taskKey, runNo: 3 } as const;
    expect(decodeRunSignal(encodeRunSignal(signal))).toEqual(signal);
    expect(runtimeChannel('host-1')).toBe('runtime:host-1');
  });

  it('is ignored in any other form', () => {
    expect(decodeRunSignal('cancel everything')).toBeUndefined();
    expect(decodeRunSignal(`pause ${taskKey} 3`)).toBeUndefined();
  });
});
