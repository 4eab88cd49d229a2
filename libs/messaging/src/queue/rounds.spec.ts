import { describe, expect, it } from '@jest/globals';
import { LAST_ROUND, ROUND_SIZE, Rounds } from './rounds.js';

/** A queue that serves the lowest round first, and within it whoever came first. */
class ModelQueue {
  readonly rounds = new Rounds();
  readonly served: string[] = [];
  private waiting: { readonly line: string; readonly round: number }[] = [];

  add(line: string, count = 1): void {
    for (let i = 0; i < count; i += 1) this.waiting.push({ line, round: this.rounds.take(line) });
    this.waiting.sort((a, b) => a.round - b.round);
  }

  look(): void {
    this.rounds.beginLook();
    const [next] = this.waiting;
    this.rounds.endLook({ round: next?.round ?? 0, isEmpty: next === undefined });
  }

  serve(count: number): string[] {
    const now = this.waiting.splice(0, count).map(({ line }) => line);
    this.served.push(...now);
    return now;
  }
}

const countOf = (lines: readonly string[], line: string): number => lines.filter((one) => one === line).length;

describe('rounds', () => {
  it('let a newcomer wait for one round of a flood, wherever the queue stands', () => {
    const queue = new ModelQueue();
    queue.add('flood', 5_000);
    for (const served of [0, 640, 3_000]) {
      queue.serve(served);
      queue.look();
      queue.add(`newcomer ${served}`);
      expect(queue.serve(ROUND_SIZE + 1)).toContain(`newcomer ${served}`);
    }
  });

  it('give two floods the same, also when one of them comes much later', () => {
    const queue = new ModelQueue();
    queue.add('a', 5_000);
    queue.serve(2_000);
    queue.look();
    queue.add('b', 2_000);
    const both = queue.serve(4_000);
    expect(Math.abs(countOf(both, 'a') - countOf(both, 'b'))).toBeLessThanOrEqual(ROUND_SIZE);
  });

  it('let a flood go on while others come as fast as the queue is worked off', () => {
    const queue = new ModelQueue();
    queue.add('flood', 1_000);
    for (let second = 0; second < 50; second += 1) {
      queue.look();
      for (let i = 0; i < 40; i += 1) {
        queue.add(`steady ${i % 2}`);
        queue.serve(1);
      }
    }
    // A third of it each, and up to a round more or less.
    expect(countOf(queue.served, 'flood')).toBeGreaterThan(2_000 / 3 - ROUND_SIZE);
  });

  it('keep the order of a line that is topped up as fast as it is worked off', () => {
    const queue = new ModelQueue();
    queue.add('first', 1);
    const rounds = Array.from({ length: 3_000 }, () => queue.rounds.take('flood'));
    for (let second = 0; second < 20; second += 1) {
      queue.look();
      rounds.push(...Array.from({ length: 100 }, () => queue.rounds.take('flood')));
    }
    expect(rounds).toEqual(rounds.toSorted((a, b) => a - b));
  });

  it('forget what went through without waiting, and keep what came since they looked', () => {
    const rounds = new Rounds();
    for (let i = 0; i < 10 * ROUND_SIZE; i += 1) rounds.take('quick');
    rounds.beginLook();
    for (let i = 0; i < ROUND_SIZE; i += 1) rounds.take('quick');
    rounds.endLook({ round: 7, isEmpty: true });
    expect([rounds.take('quick'), rounds.take('new')]).toEqual([8, 7]);
    rounds.beginLook();
    rounds.endLook({ round: 7, isEmpty: true });
    expect(rounds.take('quick')).toBe(7);
  });

  it('count with the others when they have begun anew', () => {
    const rounds = new Rounds();
    rounds.endLook({ round: 1_000, isEmpty: false });
    rounds.take('a');
    rounds.beginLook();
    rounds.endLook({ round: 3, isEmpty: false });
    expect([rounds.take('a'), rounds.take('b')]).toEqual([3, 3]);
  });

  it('end at the last one there is a number for', () => {
    const rounds = new Rounds();
    rounds.endLook({ round: LAST_ROUND, isEmpty: false });
    const taken = Array.from({ length: 3 * ROUND_SIZE }, () => rounds.take('a'));
    expect(new Set(taken)).toEqual(new Set([LAST_ROUND]));
  });
});
