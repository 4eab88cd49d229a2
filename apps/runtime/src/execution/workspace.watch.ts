import { isWorkspaceFull, type Workspace } from './workspaces.js';

/** How often a workspace is measured at most, in ms. */
const EVERY_MS = 1_000;
/** Of the time that is spent on measuring, so many times as much passes without. */
const REST = 10;

/**
 * Measures a workspace now and then while its run goes on, and tells once when it holds more than it may. Between two
 * looks it can grow by what a disk takes in that time.
 */
export class WorkspaceWatch {
  private timer: NodeJS.Timeout | undefined;
  private isOver = false;

  constructor(
    private readonly workspace: Workspace,
    private readonly onFull: () => void,
  ) {
    this.wait(EVERY_MS);
  }

  stop(): void {
    this.isOver = true;
    clearTimeout(this.timer);
  }

  private wait(ms: number): void {
    this.timer = setTimeout(() => void this.look(), ms).unref();
  }

  private async look(): Promise<void> {
    const startedMs = performance.now();
    try {
      await this.workspace.files();
    } catch (error) {
      // What cannot be read now will be met when it is saved or kept.
      if (isWorkspaceFull(error) && !this.isOver) return this.onFull();
    }
    if (!this.isOver) this.wait(Math.max(EVERY_MS, (performance.now() - startedMs) * REST));
  }
}
