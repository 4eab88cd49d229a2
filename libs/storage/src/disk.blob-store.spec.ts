import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
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

  it('says that it is away when its folder is, and nothing of a source that fails', async () => {
    const { store, root } = await newStore();
    const { sha256 } = await store.put('t', bytes('x'));
    async function* broken(): AsyncIterable<Uint8Array> {
      throw new Error('the sender left');
    }
    await expect(store.put('t', broken())).rejects.toThrow('the sender left');
    await rename(root, `${root}.away`);
    await writeFile(root, 'no folder');
    const away = { code: 'unavailable', message: 'The storage of artifacts cannot be reached at the moment.' };
    await expect(store.put('t', bytes('y'))).rejects.toMatchObject(away);
    await expect(store.open('t', sha256)).rejects.toMatchObject(away);
    await rm(root);
    await rename(`${root}.away`, root);
    await expect(store.put('t', bytes('y'))).resolves.toMatchObject({ size: 1 });
  });

  it('leaves nothing aside once a blob is in place', async () => {
    const { store, root } = await newStore();
    await store.put('t', bytes('x'));
    expect(await readdir(path.join(root, 'incoming'))).toEqual([]);
  });
});
