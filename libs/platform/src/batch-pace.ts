/**
 * Spaces the batches of a single flight. A statement costs several times what one more row in it costs, so under load the
 * next batch waits for the interval to pass since the last one began, and grows. After a batch of one there is no load:
 * the next goes at once, and an idle system pays nothing.
 */
export class BatchPace {
  private startedAtMs = 0;
  private isBusy = false;

  constructor(
    /** In ms; what a busy system may add to the latency of one step. */
    private readonly intervalMs: number,
  ) {}

  /** Resolves when the next batch may begin. */
  async turn(): Promise<void> {
    const leftMs = this.startedAtMs + this.intervalMs - performance.now();
    if (this.isBusy && leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs));
  }

  /** A batch of so many items begins now. */
  begin(items: number): void {
    this.startedAtMs = performance.now();
    this.isBusy = items > 1;
  }
}
