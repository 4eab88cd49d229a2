import { randomBytes } from 'node:crypto';
import { ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { describeBlobStore } from '../../../test/support/blob-store.contract.js';
import { S3Server } from '../../../test/support/s3-server.js';
import { blobPlace } from './blob-name.js';
import { S3BlobStore } from './s3.blob-store.js';
import { openStorage, type OpenStorage } from './storage.js';
import { STORAGE_SETTINGS, storageOf, type StorageOptions } from './storage.settings.js';
import { readSettings } from '#lib/platform';

let server: S3Server;
let options: StorageOptions;
let client: S3Client;
const open: OpenStorage[] = [];

beforeAll(async () => {
  server = await S3Server.start();
  const { S3_ENDPOINT: endpoint, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = server.settings;
  options = storageOf(readSettings(STORAGE_SETTINGS, { ...server.settings }), '.data');
  client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY },
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
});

afterEach(async () => {
  for (const storage of open.splice(0)) await storage.close();
});

afterAll(async () => {
  client.destroy();
  await server.stop();
});

async function newStore(): Promise<OpenStorage['blobs']> {
  const storage = await openStorage(options);
  open.push(storage);
  return storage.blobs;
}

async function keys(): Promise<string[]> {
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: 'artifacts' }));
  return Contents.map(({ Key }) => Key!);
}

async function* pieces(bytes: Buffer, size: number): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe('S3BlobStore', () => {
  describeBlobStore(async () => {
    const corrupt = async (tenant: string, sha256: string, Body: Buffer): Promise<void> => {
      await client.send(new PutObjectCommand({ Bucket: 'artifacts', Key: blobPlace(tenant, sha256).join('/'), Body }));
    };
    return { store: await newStore(), corrupt };
  });

  it('is what S3_BUCKET opens', async () => {
    expect(await newStore()).toBeInstanceOf(S3BlobStore);
  });

  it('keeps a streamed body to the byte, in one part or in many, and leaves nothing aside', async () => {
    const store = await newStore();
    for (const size of [2_000, 5 * 1_048_576, 12_000_001]) {
      const bytes = randomBytes(size);
      const blob = await store.put('sizes', pieces(bytes, 100_000));
      expect(blob.size).toBe(size);
      const read: Uint8Array[] = [];
      for await (const chunk of (await store.open('sizes', blob.sha256))!) read.push(chunk);
      expect(Buffer.concat(read).equals(bytes)).toBe(true);
    }
    expect((await keys()).filter((key) => key.startsWith('incoming/'))).toEqual([]);
  });

  it('leaves nothing of a sender that breaks off after several parts', async () => {
    const store = await newStore();
    const before = await keys();
    async function* breaksOff(): AsyncIterable<Uint8Array> {
      yield* pieces(randomBytes(11_000_000), 1_000_000);
      throw new Error('the sender left');
    }
    await expect(store.put('t', breaksOff())).rejects.toThrow('the sender left');
    expect(await keys()).toEqual(before);
  });

  it('says in one line that a bucket cannot be used', async () => {
    await expect(openStorage({ ...options, bucket: 'other' } as StorageOptions)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'S3_BUCKET: the bucket cannot be used (404).',
    });
    const nobody = { ...options, endpoint: 'http://127.0.0.1:1' } as StorageOptions;
    await expect(openStorage(nobody)).rejects.toMatchObject({ code: 'unavailable' });
  });
});
