import type { BlobRemovals, BlobStore } from '#lib/domain';
import type { Sweep } from './sweep.loop.js';

const BATCH = 100;

/** Removes the bytes that nothing names any more, some time after they were marked. */
export class BlobsSweep implements Sweep {
  readonly name = 'blobs';
  readonly everyMs = 60_000;

  constructor(private readonly ports: { readonly removals: BlobRemovals; readonly blobs: BlobStore }) {}

  async runOnce(): Promise<void> {
    for (;;) {
      const due = await this.ports.removals.due(BATCH);
      for (const removal of due) {
        // Bytes that were stored again since the mark are somebody's who has not named them yet: then they stay.
        await this.ports.blobs.remove(removal.tenant, removal.sha256, removal.markedAtMs);
        await this.ports.removals.settle(removal);
      }
      if (due.length === 0) return;
    }
  }
}
