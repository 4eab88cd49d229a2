import { OutboundError } from '#lib/domain';
import { setMaxListeners } from 'node:events';

/** The end of a request's time, or of its caller's patience, whichever comes first. */
export class Deadline {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private isGivenUp = false;
  private readonly giveUp = (): void => {
    this.isGivenUp = true;
    this.controller.abort();
  };

  constructor(
    timeoutMs: number,
    private readonly caller: AbortSignal | undefined,
  ) {
    // Each redirect and each address listens.
    setMaxListeners(0, this.controller.signal);
    this.timer = setTimeout(() => this.controller.abort(), timeoutMs);
    if (caller?.aborted) this.giveUp();
    else caller?.addEventListener('abort', this.giveUp, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  failure(effects: 'none' | 'possible'): OutboundError {
    const message = this.isGivenUp ? 'The request was given up.' : 'The host did not answer in time.';
    return new OutboundError('timeout', message, effects);
  }

  /** The outcome of work that cannot be stopped, unless the time is over before. @throws OutboundError `timeout` */
  async within<T>(work: Promise<T>): Promise<T> {
    let stop = (): void => undefined;
    const over = new Promise<never>((_, reject) => {
      stop = () => reject(this.failure('none'));
      if (this.signal.aborted) stop();
      else this.signal.addEventListener('abort', stop, { once: true });
    });
    try {
      return await Promise.race([work, over]);
    } finally {
      this.signal.removeEventListener('abort', stop);
    }
  }

  /** Nothing happens at its end any more. */
  release(): void {
    clearTimeout(this.timer);
    this.caller?.removeEventListener('abort', this.giveUp);
  }
}
