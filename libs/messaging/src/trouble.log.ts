import type { Logger } from '#lib/domain';

const QUIET_MS = 10_000;

/** Logs troubles of a connection: the first at once, then at most one line in ten seconds with the number left out. */
export class TroubleLog {
  private quietUntilMs = 0;
  private leftOut = 0;

  constructor(
    private readonly logger: Logger,
    private readonly message: string,
  ) {}

  readonly report = (error: unknown): void => {
    const nowMs = performance.now();
    if (nowMs < this.quietUntilMs) {
      this.leftOut += 1;
      return;
    }
    const { code, message } = error as { code?: unknown; message?: unknown };
    this.logger.warn(this.message, { code, reason: message, leftOut: this.leftOut });
    this.quietUntilMs = nowMs + QUIET_MS;
    this.leftOut = 0;
  };
}
