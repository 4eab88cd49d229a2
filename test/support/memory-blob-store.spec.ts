import { describe } from '@jest/globals';
import { describeBlobStore } from './blob-store.contract.js';
import { MemoryBlobStore } from './memory-blob-store.js';

describe('MemoryBlobStore', () => {
  describeBlobStore(async () => {
    const store = new MemoryBlobStore();
    const corrupt = async (tenant: string, sha256: string, bytes: Buffer): Promise<void> =>
      void store.blobs.set(`${tenant}/${sha256}`, bytes);
    return { store, corrupt };
  });
});
