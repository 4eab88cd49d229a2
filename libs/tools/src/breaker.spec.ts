import { describe, expect, it } from '@jest/globals';
import { ToolError } from '#lib/domain';
import { Breaker } from './breaker.js';

const outage = new ToolError('timeout', 'no answer');
const isOutage = (error: unknown): boolean => error === outage;
const failing = (): Promise<never> => Promise.reject(outage);
const answering = (): Promise<string> => Promise.resolve('answer');

async function times(count: number, work: () => Promise<unknown>): Promise<void> {
  for (let made = 0; made < count; made += 1) await work().catch(() => undefined);
}

describe('a breaker', () => {
  it('opens after five failures in a row, and lets one call out to see after its time', async () => {
    let nowMs = 0;
    const breaker = new Breaker(() => nowMs);
    await times(4, () => breaker.run(failing, isOutage));
    await breaker.run(answering, isOutage);
    await times(4, () => breaker.run(failing, isOutage));
    expect(breaker.state).toBe('closed');
    await times(1, () => breaker.run(failing, isOutage));
    expect(breaker.state).toBe('open');
    await expect(breaker.run(answering, isOutage)).rejects.toThrow('it is tried again in 5 s');
    nowMs = 5_000;
    const probe = breaker.run(async () => {
      expect(breaker.state).toBe('half_open');
      await expect(breaker.run(answering, isOutage)).rejects.toThrow('has not answered for a while');
      return 'back';
    }, isOutage);
    await expect(probe).resolves.toBe('back');
    expect(breaker.state).toBe('closed');
  });

  it('waits twice as long each time the call that was let out fails, and five minutes at most', async () => {
    let nowMs = 0;
    const breaker = new Breaker(() => nowMs);
    await times(5, () => breaker.run(failing, isOutage));
    const waits: number[] = [];
    for (let round = 0; round < 8; round += 1) {
      nowMs += 1_000_000;
      await times(1, () => breaker.run(failing, isOutage));
      const refusal = (await breaker.run(answering, isOutage).catch((error: unknown) => error)) as Error;
      waits.push(Number(/in (\d+) s/.exec(refusal.message)?.[1]));
    }
    expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300, 300]);
  });

  it('takes an answer that says no for an answer, and a call that was given up for neither', async () => {
    let nowMs = 0;
    const breaker = new Breaker(() => nowMs);
    await times(5, () => breaker.run(failing, isOutage));
    nowMs = 5_000;
    await times(1, () => breaker.run(() => Promise.reject(new Error('given up')), isOutage));
    expect(breaker.state).toBe('open');
    await times(1, () => breaker.run(() => Promise.reject(new ToolError('failed', 'status 404')), isOutage));
    expect(breaker.state).toBe('closed');
  });
});
