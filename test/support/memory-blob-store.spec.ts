import { describe } from '@jest/globals';
import { describeBlobStore } from './blob-store.contract.js';
import { MemoryBlobStore } from './memory-blob-store.js';

describe('MemoryBlobStore', () => {
  describeBlobStore(async () => new MemoryBlobStore());
});
