import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { BlobStore } from '#lib/domain';

async function* pieces(...texts: string[]): AsyncIterable<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

async function* breaksOff(): AsyncIterable<Uint8Array> {
  yield Buffer.from('half');
  throw new Error('the sender left');
}

async function read(bytes: AsyncIterable<Uint8Array> | undefined): Promise<string | undefined> {
  if (!bytes) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A store, and a way behind its back: replaces the bytes under a name. */
export interface BlobStoreUnderTest {
  readonly store: BlobStore;
  corrupt(tenant: string, sha256: string, bytes: Buffer): Promise<void>;
}

/** What every store of artifact bytes must do. */
export function describeBlobStore(createForTest: () => Promise<BlobStoreUnderTest>): void {
  const create = async (): Promise<BlobStore> => (await createForTest()).store;

  it('gives back what it was given, by the hash of it', async () => {
    const store = await create();
    const blob = await store.put('t', pieces('hello ', 'world'));
    expect(blob).toEqual({ sha256: sha256('hello world'), size: 11 });
    expect(await read(await store.open('t', blob.sha256))).toBe('hello world');
  });

  it('keeps an empty blob', async () => {
    const store = await create();
    const blob = await store.put('t', pieces());
    expect(blob.size).toBe(0);
    expect(await read(await store.open('t', blob.sha256))).toBe('');
  });

  it('takes the same bytes again, also at the same time', async () => {
    const store = await create();
    const all = await Promise.all([1, 2, 3].map(() => store.put('t', pieces('same'))));
    expect(new Set(all.map((blob) => blob.sha256)).size).toBe(1);
    expect(await read(await store.open('t', sha256('same')))).toBe('same');
  });

  it('shows a tenant nothing of another, even when the bytes are known', async () => {
    const store = await create();
    await store.put('a', pieces('private'));
    expect(await store.open('b', sha256('private'))).toBeUndefined();
  });

  it.each([
    [{ start: 0, end: 4 }, '0123'],
    [{ start: 4, end: 10 }, '456789'],
    [{ start: 8, end: 99 }, '89'],
    [{ start: 3, end: 3 }, ''],
  ])('reads the range %j', async (range, expected) => {
    const store = await create();
    const { sha256: name } = await store.put('t', pieces('0123456789'));
    expect(await read(await store.open('t', name, range))).toBe(expected);
  });

  it.each(['', '../../etc/passwd', 'A'.repeat(64), 'g'.repeat(64), `${'0'.repeat(64)}/..`])(
    'has no blob of the name %j',
    async (name) => {
      const store = await create();
      expect(await store.open('t', name)).toBeUndefined();
    },
  );

  it('keeps nothing of a sender that breaks off', async () => {
    const store = await create();
    await expect(store.put('t', breaksOff())).rejects.toThrow('the sender left');
    expect(await store.open('t', sha256('half'))).toBeUndefined();
  });

  it('never gives out the end of a blob that is not what was stored', async () => {
    const { store, corrupt } = await createForTest();
    const large = 'x'.repeat(300_000);
    for (const [stored, changed] of [
      ['genuine', 'changed'],
      ['genuine', 'gen'],
      ['genuine', ''],
      ['genuine', 'genuine and more'],
      [large, `${large.slice(0, -1)}y`],
    ] as const) {
      const { sha256: name } = await store.put('t', pieces(stored));
      await corrupt('t', name, Buffer.from(changed));
      let size = 0;
      const reading = (async () => {
        for await (const chunk of (await store.open('t', name))!) size += chunk.length;
      })();
      await expect(reading).rejects.toMatchObject({ name: 'CorruptBlobError' });
      expect(size).toBeLessThan(stored.length);
    }
  });

  it('removes a blob, but not one that was stored again since', async () => {
    const store = await create();
    const { sha256: name } = await store.put('t', pieces('going'));
    await store.put('u', pieces('going'));
    await store.remove('t', name, Date.now() - 60_000);
    expect(await read(await store.open('t', name))).toBe('going');
    await store.remove('t', name, Date.now() + 60_000);
    expect(await store.open('t', name)).toBeUndefined();
    expect(await read(await store.open('u', name))).toBe('going');
    await store.remove('t', name, Date.now() + 60_000);
    await store.remove('t', '../../etc/passwd', Date.now() + 60_000);
    await store.put('t', pieces('going'));
    expect(await read(await store.open('t', name))).toBe('going');
  });
}
