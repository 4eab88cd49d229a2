import { BlobStore } from '#lib/domain';
import { createHash } from 'node:crypto';

/** Bytes of artifacts in memory. */
export class MemoryBlobStore extends BlobStore {
  readonly blobs = new Map<string, Buffer>();

  override async put(
    tenant: string,
    content: AsyncIterable<Uint8Array>,
  ): Promise<{ readonly sha256: string; readonly size: number }> {
    const parts: Uint8Array[] = [];
    for await (const part of content) parts.push(part);
    const bytes = Buffer.concat(parts);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    this.blobs.set(`${tenant}/${sha256}`, bytes);
    return { sha256, size: bytes.length };
  }

  override async open(
    tenant: string,
    sha256: string,
    range?: { readonly start: number; readonly end: number },
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const bytes = this.blobs.get(`${tenant}/${sha256}`);
    return bytes && chunks(range ? bytes.subarray(range.start, range.end) : bytes);
  }
}

async function* chunks(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
