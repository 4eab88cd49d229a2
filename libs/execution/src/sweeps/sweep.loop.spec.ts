import { describe, expect, it } from '@jest/globals';
import { SilentLogger } from '../../../../test/support/silent-logger.js';
import { until } from '../../../../test/support/until.js';
import { SweepLoop } from './sweep.loop.js';

describe('the loop of sweeps', () => {
  it('runs each again and again, goes on after a failure, and stops at once', async () => {
    const logger = new SilentLogger();
    const loop = new SweepLoop(logger);
    let [good, bad] = [0, 0];
    loop.start([
      { name: 'good', everyMs: 1, runOnce: async () => void (good += 1) },
      { name: 'bad', everyMs: 1, runOnce: () => Promise.reject(new Error(`no ${(bad += 1)}`)) },
      { name: 'seldom', everyMs: 3_600_000, runOnce: async () => undefined },
    ]);
    await until(() => good > 2 && bad > 2);
    await loop.stop();
    const counts = [good, bad];
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect([good, bad]).toEqual(counts);
    expect(logger.lines[0]).toMatchObject({ level: 'warn', fields: { sweep: 'bad' } });
  });
});
