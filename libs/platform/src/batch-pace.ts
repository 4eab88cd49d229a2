/** What a system with some load may add to the latency of one step, in ms. */
const SOME_LOAD_MS = 2;
/** The same under much load, where a step takes its time anyway. */
const MUCH_LOAD_MS = 5;
/** So many items in a batch are much load. */
const MANY_ITEMS = 5;

/**
 * Spaces the batches of a single flight. A statement costs as much as ten more rows in it, so under load the next batch
 * waits for an interval to pass since the last one began, and grows. After a batch of one there is no load: the next goes
 * at once, and an idle system pays nothing.
 */
export class BatchPace {
  private startedAtMs = 0;
  private intervalMs = 0;

  /** Resolves when the next batch may begin. */
  async turn(): Promise<void> {
    if (this.intervalMs === 0) return;
    const leftMs = this.startedAtMs + this.intervalMs - performance.now();
    if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs));
  }

  /** A batch of so many items begins now. */
  begin(items: number): void {
    this.startedAtMs = performance.now();
    if (items <= 1) this.intervalMs = 0;
    else this.intervalMs = items < MANY_ITEMS ? SOME_LOAD_MS : MUCH_LOAD_MS;
  }
}
