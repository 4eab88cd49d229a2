import { type BlobRange, type BlobReference, BlobStore } from '#lib/domain';
import { createHash } from 'node:crypto';
import { verified } from '../../libs/storage/src/verified.js';

/** Bytes of artifacts in memory. */
export class MemoryBlobStore extends BlobStore {
  readonly blobs = new Map<string, Buffer>();
  private readonly storedAtMs = new Map<string, number>();

  override async put(tenant: string, content: AsyncIterable<Uint8Array>): Promise<BlobReference> {
    const parts: Uint8Array[] = [];
    for await (const part of content) parts.push(part);
    const bytes = Buffer.concat(parts);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    this.blobs.set(`${tenant}/${sha256}`, bytes);
    this.storedAtMs.set(`${tenant}/${sha256}`, Date.now());
    return { sha256, size: bytes.length };
  }

  override async open(
    tenant: string,
    sha256: string,
    range?: BlobRange,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const bytes = this.blobs.get(`${tenant}/${sha256}`);
    if (!bytes || range) return bytes && chunks(bytes.subarray(range?.start, range?.end));
    return verified(chunks(bytes), sha256);
  }

  override async remove(tenant: string, sha256: string, storedBeforeMs: number): Promise<void> {
    const key = `${tenant}/${sha256}`;
    if ((this.storedAtMs.get(key) ?? Infinity) < storedBeforeMs) this.blobs.delete(key);
  }
}

async function* chunks(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
