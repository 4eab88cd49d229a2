import type { TaskKey } from '../ids.js';

/** A run this process has claimed. */
export interface HeldRun {
  readonly taskKey: TaskKey;
  readonly runNo: number;
}

/** A held run that is to be cancelled. */
export interface CancelledRun extends HeldRun {
  /** How long ago, in the database's time, the cancel was asked. */
  readonly elapsedMs: number;
}

/**
 * Renews the leases of this process's runs, from a thread of its own, so that a busy main loop does not lose them.
 * Its listeners are called on the main loop.
 */
export abstract class LeaseKeeper {
  /** From the next renewal on the run is renewed, and shown to live every `heartbeatMs`, until `release`. */
  abstract hold(run: HeldRun, heartbeatMs: number): void;
  abstract release(run: HeldRun): void;
  /**
   * When, by `performance.now()` of the caller's thread, the last renewal that was answered had been asked.
   * A run held before then is safe until the lease has passed from there.
   */
  abstract renewedAtMs(): number;
  /** A held run that is no longer ours: claimed by another, closed, or ended. */
  abstract onLost(listener: (run: HeldRun) => void): void;
  /** Somebody asked to cancel the task of a held run; told with each renewal until the run is released. */
  abstract onCancel(listener: (run: CancelledRun) => void): void;
  /** The thread ended without being closed: no lease is renewed from here on. */
  abstract onFailure(listener: (error: Error) => void): void;
  abstract close(): Promise<void>;
}
