import { describe, expect, it } from '@jest/globals';
import { until } from './until.js';

describe('until', () => {
  it('answers what the condition answered once it is true', async () => {
    let calls = 0;
    await expect(until(() => (calls += 1) > 2 && 'third', { intervalMs: 1 })).resolves.toBe('third');
  });

  it('names what it waited for and the last error when the time runs out', async () => {
    const failing = (): never => {
      throw new Error('no such row');
    };
    await expect(until(failing, { timeoutMs: 5, intervalMs: 1, what: 'the row' })).rejects.toThrow(
      'Not within 5 ms: the row (last error: Error: no such row)',
    );
  });
});
