import type { RunCalls } from '#lib/domain';
import type { LiveGrant } from './task-token.authenticator.js';

/** How often a call that goes on asks whether its run still lives, in ms. */
const LOOK_MS = 1_000;

/** Aborts what is done for a run from outside once that run is over, or is to end. */
export class RunWatch {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly grant: LiveGrant,
    private readonly calls: RunCalls,
  ) {
    this.timer = setInterval(() => void this.look(), LOOK_MS);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** That the database cannot say is no reason to stop: nothing can be written either. */
  private async look(): Promise<void> {
    const standing = await this.calls.standing(this.grant.taskKey).catch(() => 'unknown' as const);
    if (standing === 'unknown') return;
    const isLive =
      standing?.runNo === this.grant.runNo && standing.runOpen && standing.isLeased && !standing.cancelRequested;
    if (!isLive) this.controller.abort();
  }
}
