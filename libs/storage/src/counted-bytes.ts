import { createHash } from 'node:crypto';
import type { BlobReference } from '#lib/domain';

/** Counts and hashes bytes as they pass, and remembers when it was their source that failed. */
export class CountedBytes implements AsyncIterable<Uint8Array> {
  private readonly hash = createHash('sha256');
  private size = 0;
  failure: unknown;

  constructor(private readonly content: AsyncIterable<Uint8Array>) {}

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    try {
      for await (const chunk of this.content) {
        this.hash.update(chunk);
        this.size += chunk.byteLength;
        yield chunk;
      }
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }

  /** Once all have passed. */
  reference(): BlobReference {
    return { sha256: this.hash.digest('hex'), size: this.size };
  }
}
