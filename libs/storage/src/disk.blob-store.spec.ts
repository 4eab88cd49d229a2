import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeBlobStore } from '../../../test/support/blob-store.contract.js';
import { blobPlace } from './blob-name.js';
import { DiskBlobStore } from './disk.blob-store.js';

let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'blobs-'));
});
afterAll(() => rm(dir, { recursive: true }));

async function newStore(): Promise<{ store: DiskBlobStore; root: string }> {
  const root = await mkdtemp(path.join(dir, 'store-'));
  return { store: new DiskBlobStore(root), root };
}

async function* bytes(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

describe('DiskBlobStore', () => {
  describeBlobStore(async () => {
    const { store, root } = await newStore();
    const corrupt = (tenant: string, sha256: string, bytes: Buffer): Promise<void> =>
      writeFile(path.join(root, ...blobPlace(tenant, sha256)), bytes);
    return { store, corrupt };
  });

  it('lets no name of a tenant become a path', async () => {
    const { store, root } = await newStore();
    await store.put('../../evil/..\u0000', bytes('x'));
    const [folder, ...others] = (await readdir(root)).filter((name) => name !== 'incoming');
    expect([folder, others]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), []]);
  });

  it('leaves nothing aside once a blob is in place', async () => {
    const { store, root } = await newStore();
    await store.put('t', bytes('x'));
    expect(await readdir(path.join(root, 'incoming'))).toEqual([]);
  });
});
