import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { RunJob, TaskKey } from '#lib/domain';
import { PoolTurns } from './pool.turns.js';
import type { Front } from './queue.access.js';
import { LAST_ROUND, ROUND_SIZE } from './rounds.js';

const EMPTY: Front = { isEmpty: true, number: undefined, noted: 0 };
const job = (tenant: string): RunJob => ({
  taskKey: 'k' as TaskKey,
  runNo: 1,
  tenant,
  pool: 'p',
  priority: 5,
  delayMs: 0,
});

/** Turns over a queue that looks like this. */
function turnsOver(front: () => Front): { turns: PoolTurns; notes: number[]; look: () => Promise<void> } {
  const notes: number[] = [];
  const access = {
    front: async () => front(),
    note: async (_queue: string, round: number) => void notes.push(round),
  };
  const turns = new PoolTurns(access, 'swy-p');
  const look = async (): Promise<void> => {
    jest.advanceTimersByTime(1_000);
    turns.keepUp();
    await jest.advanceTimersByTimeAsync(0);
  };
  return { turns, notes, look };
}

describe('the turns of a pool', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('begin where the next job is, and leave a note of it', async () => {
    const { turns, notes, look } = turnsOver(() => ({ isEmpty: false, number: 75, noted: 3 }));
    await look();
    expect([turns.roundOf(job('a')), notes]).toEqual([7, [7]]);
  });

  it('begin in an empty queue where whoever looked before has left it', async () => {
    const { turns, notes, look } = turnsOver(() => ({ ...EMPTY, noted: 9 }));
    await look();
    expect([turns.roundOf(job('a')), notes]).toEqual([9, []]);
  });

  it('do not go back for a job that is behind the others', async () => {
    const { turns, look } = turnsOver(() => ({ isEmpty: false, number: 5, noted: 9 }));
    await look();
    expect(turns.roundOf(job('a'))).toBe(9);
  });

  it('begin anew when most numbers are used up, and nothing waits', async () => {
    let front: Front = { isEmpty: false, number: (LAST_ROUND - 1) * 10, noted: LAST_ROUND - 2 };
    const { turns, notes, look } = turnsOver(() => front);
    await look();
    expect(turns.roundOf(job('a'))).toBe(LAST_ROUND - 2);
    front = { ...EMPTY, noted: LAST_ROUND - 2 };
    await look();
    expect([turns.roundOf(job('a')), notes]).toEqual([0, [0]]);
  });

  it('stay as they are when the next job was taken at that moment, or the queue does not answer', async () => {
    const answers: (() => Front)[] = [
      () => ({ isEmpty: false, number: 75, noted: 0 }),
      () => ({ isEmpty: false, number: undefined, noted: 0 }),
      () => {
        throw new Error('away');
      },
    ];
    const { turns, look } = turnsOver(() => answers.shift()!());
    for (let i = 0; i < 3; i += 1) await look();
    expect([turns.roundOf(job('a')), answers.length]).toEqual([7, 0]);
  });

  it('look once a second at the most', async () => {
    let looks = 0;
    const { turns, look } = turnsOver(() => {
      looks += 1;
      return EMPTY;
    });
    await look();
    turns.keepUp();
    jest.advanceTimersByTime(900);
    turns.keepUp();
    await jest.advanceTimersByTimeAsync(0);
    expect(looks).toBe(1);
    await look();
    expect(looks).toBe(2);
  });

  it('set nobody back for jobs that are restored, however often', async () => {
    const { turns, look } = turnsOver(() => ({ isEmpty: false, number: 5, noted: 0 }));
    for (let i = 0; i < 10 * ROUND_SIZE; i += 1) turns.roundAgain(job('a'));
    expect([turns.roundOf(job('a')), turns.roundAgain(job('a'))]).toEqual([0, 10]);
    await look();
    expect(turns.roundAgain(job('a'))).toBe(0);
  });
});
