import type { LoggedEvent } from '#lib/domain';
import { describe, expect, it } from '@jest/globals';
import type { EventBatches } from '../core/awaited-streams.js';
import { RemoteEventStream } from './event.stream.js';

/** Gives these batches and then waits until it is left. */
function source(batches: readonly (readonly number[])[]): EventBatches & { isLeft: boolean } {
  const rest = [...batches];
  let leave!: () => void;
  const left = new Promise<void>((resolve) => (leave = resolve));
  return {
    isLeft: false,
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      const batch = rest.shift();
      if (batch) return { done: false, value: batch.map((seq) => ({ seq }) as LoggedEvent) };
      await left;
      return { done: true, value: undefined };
    },
    async return() {
      this.isLeft = true;
      leave();
      return { done: true, value: undefined };
    },
  };
}

const encoder = {
  encode: ({ seq }: { readonly seq: number }) =>
    [0, 1].map((at) => ({ seq: seq * 8 + at, type: 'STATUS' as const, taskId: 't' })),
};
const idsOf = (text: string | undefined): number[] =>
  [...(text ?? '').matchAll(/^id:(\d+)$/gm)].map(([, id]) => Number(id));

describe('a stream of this wire', () => {
  it('leaves out what its reader has seen, to the middle of one event of the log', async () => {
    const events = source([[1], [2, 3]]);
    const stream = new RemoteEventStream(events, encoder, { after: 16, maxAgeMs: 60_000 });
    expect(idsOf((await stream.next()).value)).toEqual([17, 24, 25]);
    await stream.return();
    expect(events.isLeft).toBe(true);
  });

  it('ends when it has lasted long enough, though nothing comes', async () => {
    const events = source([[1]]);
    const stream = new RemoteEventStream(events, encoder, { after: 0, maxAgeMs: 20 });
    expect(idsOf((await stream.next()).value)).toEqual([8, 9]);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(events.isLeft).toBe(true);
  });
});
