/** Lets so many in at a time, in order of arrival; whoever is aborted while waiting leaves the queue. */
export class StageGate {
  private free: number;
  private readonly waiting = new Set<() => void>();

  constructor(places: number) {
    this.free = places;
  }

  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.enter(signal);
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  private async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.free > 0) {
      this.free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const turn = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.waiting.delete(turn);
        reject(signal.reason as Error);
      };
      this.waiting.add(turn);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  private leave(): void {
    const [next] = this.waiting;
    if (next === undefined) this.free += 1;
    else {
      this.waiting.delete(next);
      next();
    }
  }
}
