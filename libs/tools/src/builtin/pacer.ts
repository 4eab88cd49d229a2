import { setImmediate } from 'node:timers/promises';

const SLICE_MS = 10;

/** Lets long work share the event loop: call it between small units of work. */
export type Pacer = () => Promise<void> | undefined;

/**
 * Makes a pacer that gives way to other work every few milliseconds and rejects with the signal's reason once it fired.
 * It returns nothing while the slice lasts, so that the common case costs no promise.
 */
export function createPacer(signal: AbortSignal): Pacer {
  signal.throwIfAborted();
  let until = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() < until) return undefined;
    return setImmediate().then(() => {
      signal.throwIfAborted();
      until = performance.now() + SLICE_MS;
    });
  };
}
