interface Batch<T> {
  readonly items: readonly T[];
  readonly taken: () => void;
  readonly refused: (reason: Error) => void;
}

/**
 * Hands items from several writers to one reader. A writer waits until the reader has come back for more, so that
 * nothing piles up and a writer knows that what it announced was taken care of before it acts.
 */
export class Outbox<T> {
  private readonly batches: Batch<T>[] = [];
  private wake: () => void = () => undefined;
  private ended = false;
  private failure: Error | undefined;

  /** Resolves when the reader has dealt with these items; rejects when the box was closed before. */
  put(...items: readonly T[]): Promise<void> {
    if (this.ended) return Promise.reject(this.refusal());
    if (items.length === 0) return Promise.resolve();
    return new Promise((taken, refused) => {
      this.batches.push({ items, taken, refused });
      this.wake();
    });
  }

  /** No more items. With a reason the reader gets it at once, and what was not read is dropped. The first call counts. */
  close(failure?: Error): void {
    if (this.ended) return;
    this.ended = true;
    this.failure = failure;
    if (failure !== undefined) for (const { refused } of this.batches.splice(0)) refused(failure);
    this.wake();
  }

  async *read(): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const batch = this.batches.shift();
      if (batch) {
        for (const item of batch.items) {
          if (this.failure !== undefined) break;
          yield item;
        }
        if (this.failure === undefined) batch.taken();
        else batch.refused(this.failure);
      } else if (this.ended) {
        if (this.failure !== undefined) throw this.failure;
        return;
      } else {
        await new Promise<void>((resolve) => (this.wake = resolve));
      }
    }
  }

  private refusal(): Error {
    return this.failure ?? new Error('the run is over');
  }
}
