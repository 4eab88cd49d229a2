import type { Retention } from '#lib/domain';
import type { Sweep } from './sweep.loop.js';

/** Tasks, or rows of another kind, removed in one transaction. */
const BATCH = 500;
/** Audit records, leaves or heads removed in one transaction. */
const AUDIT_BATCH = 5_000;
/** Steps in one turn, so that a process which has to stop need not remove a month first. */
const MAX_STEPS = 50;

/** Removes what is past its time, a step at a time. */
export class RetentionSweep implements Sweep {
  readonly name = 'retention';
  readonly everyMs = 60_000;

  constructor(private readonly ports: { readonly retention: Retention }) {}

  async runOnce(): Promise<void> {
    const { retention } = this.ports;
    await untilNone(() => retention.forgetCalls(BATCH));
    await untilNone(() => retention.prune(BATCH));
    await untilNone(() => retention.pruneAudit(AUDIT_BATCH));
  }
}

async function untilNone(step: () => Promise<number>): Promise<void> {
  for (let done = 0; done < MAX_STEPS; done += 1) if ((await step()) === 0) return;
}
