import type { EventBus, Logger, Unsubscribe } from '#lib/domain';

/** A notice can be lost; after this long a change is seen without it, in ms. */
const REFRESH_MS = 5_000;

export interface RefresherParts {
  readonly bus: EventBus;
  readonly logger: Logger;
  /** Of what is kept fresh: channel of its notices, and its name in the log. */
  readonly channel: string;
  /** Takes over what is stored now. */
  readonly load: () => Promise<void>;
}

/** Keeps what a process knows of something stored at most five seconds old: by notices, and by looking. */
export class Refresher {
  private timer: NodeJS.Timeout | undefined;
  private stopListening: Unsubscribe | undefined;
  private isClosed = false;
  private loading: Promise<void> = Promise.resolve();

  constructor(private readonly parts: RefresherParts) {}

  /** Loads for the first time. */
  async open(): Promise<void> {
    const { bus, channel, load, logger } = this.parts;
    await load();
    this.timer = setInterval(() => void this.lookAgain(), REFRESH_MS).unref();
    // Without the bus the timer has to do.
    bus
      .listen(channel, () => void this.lookAgain())
      .then((stop) => (this.isClosed ? stop() : (this.stopListening = stop)))
      .catch((error: unknown) => logger.warn('notices of changes are not heard', { channel, error }));
  }

  /** Looks now. What is committed before the call is seen after it. */
  refresh(): Promise<void> {
    // One after the other: an answer that is overtaken must not bring back what was.
    const loaded = this.loading.then(() => this.parts.load());
    this.loading = loaded.catch(() => undefined);
    return loaded;
  }

  /** Tells every process, this one too, to look again. Only a hint: they look by themselves before long. */
  announce(): void {
    const { bus, channel } = this.parts;
    bus.signal(channel, 'changed').catch(() => undefined);
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.timer);
    this.stopListening?.();
  }

  private async lookAgain(): Promise<void> {
    try {
      if (!this.isClosed) await this.refresh();
    } catch (error) {
      this.parts.logger.warn('what is stored could not be refreshed', { of: this.parts.channel, error });
    }
  }
}
