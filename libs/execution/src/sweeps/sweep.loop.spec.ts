import { describe, expect, it } from '@jest/globals';
import { PromMetrics } from '#lib/platform';
import { SilentLogger } from '../../../../test/support/silent-logger.js';
import { until } from '../../../../test/support/until.js';
import { SweepLoop } from './sweep.loop.js';

describe('the loop of sweeps', () => {
  it('runs each again and again, goes on after a failure, and stops at once', async () => {
    const logger = new SilentLogger();
    const metrics = new PromMetrics('gateway');
    const loop = new SweepLoop(logger, metrics);
    let [good, bad] = [0, 0];
    loop.start([
      { name: 'good', everyMs: 1, runOnce: async () => void (good += 1) },
      { name: 'bad', everyMs: 1, runOnce: () => Promise.reject(new Error(`no ${(bad += 1)}`)) },
      { name: 'seldom', everyMs: 3_600_000, runOnce: async () => undefined },
    ]);
    await until(() => good > 2 && bad > 2);
    const { text } = await metrics.page();
    const lag = (sweep: string) => Number(new RegExp(`lag_seconds{sweep="${sweep}"} (.*)`).exec(text)![1]);
    expect(lag('bad')).toBeGreaterThan(0);
    expect(lag('seldom')).toBe(0);
    expect(text).toMatch(/switchyard_sweep_seconds_count{sweep="good"} [1-9]/);
    await loop.stop();
    const counts = [good, bad];
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect([good, bad]).toEqual(counts);
    expect(logger.lines[0]).toMatchObject({ level: 'warn', fields: { sweep: 'bad' } });
  });
});
