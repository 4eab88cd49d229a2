import { describe, expect, it } from '@jest/globals';
import { newArtifactId, newEventId, newTaskKey } from './ids.js';

describe('ids', () => {
  it('never repeat, over many refills of the pool of random bytes', () => {
    const ids = Array.from({ length: 5_000 }, newEventId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^evt_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/.test(id))).toEqual([]);
  });

  it('of tasks and artifacts sort in the order they were made', () => {
    for (const make of [newTaskKey, newArtifactId] as const) {
      const ids = Array.from({ length: 1_000 }, (): string => make());
      expect(ids).toEqual([...ids].sort());
    }
  });
});
