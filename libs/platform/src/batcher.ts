import { BatchPace } from './batch-pace.js';

/**
 * Single flight: one batch is under way at a time, and what arrives meanwhile is the next one. Under load batches grow
 * by themselves; an idle system pays no waiting time.
 */
export class Batcher<Item, Result> {
  private waiting: Waiting<Item, Result>[] = [];
  private busy = false;
  private readonly pace = new BatchPace();

  constructor(
    /** Answers in the order of the items. */
    private readonly run: (items: readonly Item[]) => Promise<readonly Result[]>,
    private readonly maxItems: number,
  ) {}

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (!this.busy) {
        this.busy = true;
        queueMicrotask(() => void this.drain());
      }
    });
  }

  private async drain(): Promise<void> {
    while (this.waiting.length > 0) {
      await this.pace.turn();
      const batch = this.waiting.splice(0, this.maxItems);
      this.pace.begin(batch.length);
      try {
        const results = await this.run(batch.map(({ item }) => item));
        batch.forEach(({ resolve }, index) => resolve(results[index] as Result));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.busy = false;
  }
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}
