import type { KeyStore, Logger } from '#lib/domain';

/** How long uses are gathered, in ms; with what the store leaves out, `last_used_at` is true to five minutes. */
const GATHER_MS = 60_000;

/** Which keys were used, written down together and apart from the requests. */
export class KeyUses {
  private ids = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly keys: Pick<KeyStore, 'markUsed'>,
    private readonly logger: Logger,
  ) {}

  note(id: string): void {
    this.ids.add(id);
    this.timer ??= setTimeout(() => void this.flush(), GATHER_MS).unref();
  }

  /** Writes down what was noted until now; for the end of the process. Never rejects: a key in use is noted again. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const ids = [...this.ids];
    this.ids = new Set();
    if (ids.length === 0) return;
    try {
      await this.keys.markUsed(ids);
    } catch (error) {
      this.logger.warn('the last use of keys could not be written down', { keys: ids.length, error });
    }
  }
}
