import { type Logger, type Metrics, NO_METRICS, type Reading } from '#lib/domain';
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** Work that is found in the database and done by whichever process comes first. */
export interface Sweep {
  readonly name: string;
  readonly everyMs: number;
  runOnce(): Promise<void>;
}

/** The longest an interval becomes by drifting, as a factor. */
const LONGEST = 1.1;

/** Runs each sweep again and again, never twice at once; one that fails is logged and tried at its next turn. */
export class SweepLoop {
  private readonly stopping = new AbortController();
  private readonly loops: Promise<void>[] = [];
  /** When each sweep last came to its end, or when it began. */
  private readonly doneAtMs = new Map<Sweep, number>();

  constructor(
    private readonly logger: Logger,
    private readonly metrics: Metrics = NO_METRICS,
  ) {
    // Each sweep that waits for its turn listens.
    setMaxListeners(0, this.stopping.signal);
    metrics.gauge('switchyard_sweep_lag_seconds', () => this.lags());
  }

  start(sweeps: readonly Sweep[]): void {
    for (const sweep of sweeps) {
      this.doneAtMs.set(sweep, performance.now());
      this.loops.push(this.loop(sweep));
    }
  }

  /** Resolves when no sweep runs any more. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.loops);
  }

  private async loop(sweep: Sweep): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.run(sweep);
      // Processes that started together drift apart, rather than all asking at once.
      const waitMs = sweep.everyMs * (LONGEST - 0.2 * Math.random());
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private async run(sweep: Sweep): Promise<void> {
    const startedMs = performance.now();
    try {
      await sweep.runOnce();
      this.doneAtMs.set(sweep, performance.now());
    } catch (error) {
      this.logger.warn('a sweep failed', { sweep: sweep.name, error });
    }
    this.metrics.observe('switchyard_sweep_seconds', { sweep: sweep.name }, (performance.now() - startedMs) / 1_000);
  }

  private lags(): Reading<'switchyard_sweep_lag_seconds'> {
    const nowMs = performance.now();
    return [...this.doneAtMs].map(([{ name, everyMs }, doneAtMs]) => [
      { sweep: name },
      Math.max(0, nowMs - doneAtMs - everyMs * LONGEST) / 1_000,
    ]);
  }
}
