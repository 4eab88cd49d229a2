import type { ClaimedRun } from '#lib/execution';
import { OpenCalls } from './open-calls.js';
import { RunBudget } from './run-budget.js';

/**
 * Why a run is made to stop before its end. `lost`: it is not ours any more, nothing of it may be written.
 * `refused`: the database would not take what it emitted. `workspace`: its workspace holds more than it may.
 */
export type StopReason = 'cancel' | 'deadline' | 'budget' | 'workspace' | 'handover' | 'lost' | 'refused';

/** A run this process is at work on. Times are `performance.now()`. */
export class LiveRun {
  private readonly controller = new AbortController();
  private abandon: () => void = () => undefined;
  /** Resolves when the adapter is waited for no longer. */
  readonly abandoned: Promise<void> = new Promise((resolve) => (this.abandon = resolve));
  readonly heldFromMs: number;
  readonly calls = new OpenCalls();
  readonly budget: RunBudget;
  reason: StopReason | undefined;
  isAbandoned = false;
  progressAtMs: number;
  heartbeatAtMs: number;
  isStalled = false;
  isRecovering = false;
  private abandonAtMs = Infinity;

  constructor(
    readonly claimed: ClaimedRun,
    nowMs: number,
  ) {
    this.budget = new RunBudget(claimed.claim.policy.budgets);
    this.heldFromMs = nowMs;
    this.progressAtMs = nowMs;
    this.heartbeatAtMs = nowMs;
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Asks the adapter to stop, and gives it up after `graceMs`. The first reason stands, unless the run is lost. */
  stop(reason: StopReason, graceMs: number): void {
    if (this.reason === undefined || reason === 'lost') this.reason = reason;
    this.abandonAtMs = Math.min(this.abandonAtMs, performance.now() + graceMs);
    this.controller.abort();
    if (graceMs <= 0) this.giveUp();
  }

  /** Asks the adapter to stop what it may still do: its run has failed already. */
  abort(): void {
    this.controller.abort();
  }

  /** The adapter has until then to end by itself. */
  limit(graceMs: number): void {
    this.abandonAtMs = Math.min(this.abandonAtMs, performance.now() + graceMs);
  }

  giveUpIfDue(nowMs: number): void {
    if (nowMs >= this.abandonAtMs) this.giveUp();
  }

  private giveUp(): void {
    this.isAbandoned = true;
    this.abandon();
  }
}
