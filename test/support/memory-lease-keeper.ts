import { type CancelledRun, type HeldRun, LeaseKeeper } from '#lib/domain';

/** Keeps no lease; a test says what the database would have said. */
export class MemoryLeaseKeeper extends LeaseKeeper {
  readonly held = new Set<string>();
  renewedAt = -Infinity;
  private lost: (run: HeldRun) => void = () => undefined;
  private cancelled: (run: CancelledRun) => void = () => undefined;

  override hold({ taskKey, runNo }: HeldRun): void {
    this.held.add(`${taskKey}/${runNo}`);
  }

  override release({ taskKey, runNo }: HeldRun): void {
    this.held.delete(`${taskKey}/${runNo}`);
  }

  override renewedAtMs(): number {
    return this.renewedAt;
  }

  override onLost(listener: (run: HeldRun) => void): void {
    this.lost = listener;
  }

  override onCancel(listener: (run: CancelledRun) => void): void {
    this.cancelled = listener;
  }

  override onFailure(): void {}

  override async close(): Promise<void> {}

  lose(run: HeldRun): void {
    this.lost(run);
  }

  cancel(run: CancelledRun): void {
    this.cancelled(run);
  }
}
