import type { Logger } from '#lib/domain';
import { setTimeout as delay } from 'node:timers/promises';

/** Work that is found in the database and done by whichever process comes first. */
export interface Sweep {
  readonly name: string;
  readonly everyMs: number;
  runOnce(): Promise<void>;
}

/** Runs each sweep again and again, never twice at once; one that fails is logged and tried at its next turn. */
export class SweepLoop {
  private readonly stopping = new AbortController();
  private readonly loops: Promise<void>[] = [];

  constructor(private readonly logger: Logger) {}

  start(sweeps: readonly Sweep[]): void {
    for (const sweep of sweeps) this.loops.push(this.loop(sweep));
  }

  /** Resolves when no sweep runs any more. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.loops);
  }

  private async loop(sweep: Sweep): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        await sweep.runOnce();
      } catch (error) {
        this.logger.warn('a sweep failed', { sweep: sweep.name, error });
      }
      // Processes that started together drift apart, rather than all asking at once.
      const waitMs = sweep.everyMs * (0.9 + 0.2 * Math.random());
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
