/** Who is counted, at most; the one that failed longest ago is forgotten first. */
const MAX_ENTRIES = 10_000;
const PERIOD_MS = 60_000;

/**
 * Failed attempts by whoever made them. One may make `perMinute` at once, and each that is forgiven with time may be made
 * again. Bounded, whatever anybody tries; each process counts for itself.
 */
export class FailedAttempts {
  /** When all attempts will be forgiven, by name; those that failed last come last. */
  private readonly forgivenAtMs = new Map<string, number>();

  constructor(
    private readonly perMinute: number,
    private readonly nowMs: () => number = Date.now,
  ) {}

  /** True when nobody has failed of late. */
  get isQuiet(): boolean {
    return this.forgivenAtMs.size === 0;
  }

  note(who: string): void {
    const nowMs = this.nowMs();
    const atMs = Math.max(this.forgivenAtMs.get(who) ?? nowMs, nowMs) + PERIOD_MS / this.perMinute;
    this.forgivenAtMs.delete(who);
    this.forgivenAtMs.set(who, Math.min(atMs, nowMs + 2 * PERIOD_MS));
    this.forgetOldest(nowMs);
  }

  /** How long until it may fail once more, in ms; 0: it may now. */
  waitMs(who: string): number {
    const nowMs = this.nowMs();
    this.forgetOldest(nowMs);
    const forgivenAtMs = this.forgivenAtMs.get(who) ?? nowMs;
    return Math.max(0, forgivenAtMs + PERIOD_MS / this.perMinute - nowMs - PERIOD_MS);
  }

  private forgetOldest(nowMs: number): void {
    for (const [who, forgivenAtMs] of this.forgivenAtMs) {
      if (this.forgivenAtMs.size <= MAX_ENTRIES && forgivenAtMs > nowMs) return;
      this.forgivenAtMs.delete(who);
    }
  }
}
