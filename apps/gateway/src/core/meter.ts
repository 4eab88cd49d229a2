import type { LimitStanding } from '#lib/domain';
import type { Limits, LimitScope } from './limits.js';

/** What is held open, each under a limit of its own. */
export type HeldKind = 'streams' | 'waits';

/** What one tenant or one key does through this gateway, and what the others have told of it. */
export class Meter {
  /** Below 0: the other gateways let more through than was left, which has to be worked off. */
  private tokens: number;
  private refilledAtMs: number;
  /** Requests since the last exchange. */
  private spent = 0;
  private readonly held = { streams: 0, waits: 0 };
  private elsewhere = { streams: 0, waits: 0 };

  constructor(
    private readonly scope: LimitScope,
    readonly limits: Limits,
    nowMs: number,
  ) {
    this.tokens = limits.requestBurst;
    this.refilledAtMs = nowMs;
  }

  /** True when one more request may pass; it is not counted yet. */
  admits(nowMs: number): boolean {
    const { requestsPerSecond, requestBurst } = this.limits;
    if (requestsPerSecond === Infinity) return true;
    const gained = ((nowMs - this.refilledAtMs) / 1_000) * requestsPerSecond;
    this.refilledAtMs = nowMs;
    this.tokens = Math.min(requestBurst, this.tokens + gained);
    return this.tokens >= 1;
  }

  spend(): void {
    if (this.limits.requestsPerSecond === Infinity) return;
    this.tokens -= 1;
    this.spent += 1;
  }

  /** The other gateways let so many requests through. */
  owe(requests: number): void {
    this.tokens -= requests;
  }

  /** How many requests went through since this was asked last. */
  takeSpent(): number {
    const { spent } = this;
    this.spent = 0;
    return spent;
  }

  /** True when callers should be told that they come near it. */
  get isHalfSpent(): boolean {
    return this.tokens * 2 < this.limits.requestBurst;
  }

  /** Tokens are right as of the last `admits`. */
  requests(): LimitStanding {
    const { requestsPerSecond, requestBurst: quota } = this.limits;
    return {
      policy: `${this.scope}-requests`,
      quota,
      unit: 'requests',
      windowSeconds: Math.max(1, Math.ceil(quota / requestsPerSecond)),
      remaining: Math.max(0, Math.floor(this.tokens)),
      resetSeconds: Math.max(1, Math.ceil((1 - this.tokens) / requestsPerSecond)),
    };
  }

  /** Counts one more, or says what is in the way. */
  hold(kind: HeldKind): LimitStanding | undefined {
    const quota = kind === 'streams' ? this.limits.openStreams : this.limits.openWaits;
    if (this.held[kind] + this.elsewhere[kind] < quota) {
      this.held[kind] += 1;
      return undefined;
    }
    return { policy: `${this.scope}-${kind}`, quota, unit: 'concurrent-requests', remaining: 0 };
  }

  release(kind: HeldKind): void {
    this.held[kind] -= 1;
  }

  get streams(): number {
    return this.held.streams;
  }

  get waits(): number {
    return this.held.waits;
  }

  /** What the other gateways hold open. */
  hear(streams: number, waits: number): void {
    this.elsewhere.streams = streams;
    this.elsewhere.waits = waits;
  }

  /** True when a new one would be the same. */
  isAtRest(nowMs: number): boolean {
    const isIdle = this.held.streams === 0 && this.held.waits === 0 && this.spent === 0;
    return (
      isIdle &&
      (this.admits(nowMs), this.limits.requestsPerSecond === Infinity || this.tokens >= this.limits.requestBurst)
    );
  }
}
