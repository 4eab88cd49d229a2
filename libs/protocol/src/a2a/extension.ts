/**
 * The extension by which we tell more than the protocol has words for (A2A 1.0, "Extensions"): what a waiting task asks, and
 * where in the log of its task an update stands. The same everywhere, so that clients and other gateways know it by name.
 */
export const EXTENSION = 'urn:switchyard:a2a:tool-confirmation:1';

/** Several updates can come from one event: `number` tells them apart and grows, for whoever drops repeats. */
export function placeInLog(seq: number, part = 0): Readonly<Record<string, unknown>> {
  return { [EXTENSION]: { seq, number: seq * 8 + part } };
}
