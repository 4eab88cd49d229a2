import type { Retention } from '#lib/domain';
import type { Sweep } from './sweep.loop.js';

/** Tasks, or rows of another kind, removed in one transaction. */
const BATCH = 500;
/** Steps in one turn, so that a process which has to stop need not remove a month first. */
const MAX_STEPS = 50;

/** Removes what is past its time, a step at a time. */
export class RetentionSweep implements Sweep {
  readonly name = 'retention';
  readonly everyMs = 60_000;

  constructor(private readonly ports: { readonly retention: Retention }) {}

  async runOnce(): Promise<void> {
    for (let step = 1; step <= MAX_STEPS; step += 1) {
      if ((await this.ports.retention.prune(BATCH)) === 0) return;
    }
  }
}
