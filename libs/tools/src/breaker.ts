import { ToolError } from '#lib/domain';

/** `closed`: calls go out. `open`: they do not, for a while. `half_open`: one is out to see. */
export type BreakerState = 'closed' | 'open' | 'half_open';

/** Failures in a row that open it. */
const THRESHOLD = 5;
/** How long it stays open, in ms; doubled each time the one call that is let out fails, up to the most. */
const FIRST_MS = 5_000;
const MOST_MS = 300_000;

/**
 * Spares a tool that does not answer, and those who would wait for it. Each process keeps its own. Times are in ms of a
 * clock that never goes back.
 */
export class Breaker {
  private failures = 0;
  private openMs = FIRST_MS;
  private opensUntilMs: number | undefined;
  private isProbing = false;

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  get state(): BreakerState {
    if (this.opensUntilMs === undefined) return 'closed';
    return this.isProbing ? 'half_open' : 'open';
  }

  /** Makes a call, unless the tool is spared. `isOutage` tells which failures are the tool's own. @throws ToolError `failed` */
  async run<T>(call: () => Promise<T>, isOutage: (error: unknown) => boolean): Promise<T> {
    this.enter();
    try {
      const result = await call();
      this.close();
      return result;
    } catch (error) {
      if (isOutage(error)) this.fail();
      else this.settle(error);
      throw error;
    }
  }

  private enter(): void {
    if (this.opensUntilMs === undefined) return;
    const leftMs = this.opensUntilMs - this.nowMs();
    if (leftMs > 0 || this.isProbing) {
      const seconds = Math.max(1, Math.ceil(leftMs / 1_000));
      throw new ToolError('failed', `The tool has not answered for a while; it is tried again in ${seconds} s.`);
    }
    this.isProbing = true;
  }

  /** An answer that says no is an answer; a call that was given up says nothing either way. */
  private settle(error: unknown): void {
    if ((error as { name?: unknown }).name === 'ToolError') this.close();
    else this.isProbing = false;
  }

  private close(): void {
    this.failures = 0;
    this.openMs = FIRST_MS;
    this.opensUntilMs = undefined;
    this.isProbing = false;
  }

  private fail(): void {
    this.failures += 1;
    if (!this.isProbing && this.failures < THRESHOLD) return;
    if (this.isProbing) this.openMs = Math.min(this.openMs * 2, MOST_MS);
    this.isProbing = false;
    this.opensUntilMs = this.nowMs() + this.openMs;
  }
}
