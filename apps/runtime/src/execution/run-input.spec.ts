import { describe, expect, it } from '@jest/globals';
import type { ArtifactBody } from '#lib/domain';
import { createClaim } from '../../../../test/support/claims.js';
import { MemoryBlobStore } from '../../../../test/support/memory-blob-store.js';
import { readRunInput, type RunInput } from './run-input.js';

const ARTIFACT = `art_${'0'.repeat(32)}`;

async function* chunks(...texts: string[]): AsyncIterable<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

const nothing = (): Promise<never> => Promise.reject(new Error('something was fetched'));

async function read(input: unknown, stored?: { text: string; media_type: string }): Promise<RunInput> {
  const blobs = new MemoryBlobStore();
  const inputArtifacts: ArtifactBody[] = [];
  if (stored) {
    const blob = await blobs.put('acme', chunks(stored.text));
    inputArtifacts.push({
      artifact_id: ARTIFACT,
      kind: 'input',
      name: 'up.txt',
      media_type: stored.media_type,
      ...blob,
    });
  }
  return readRunInput(createClaim({ input: JSON.stringify(input), inputArtifacts }), { blobs, fetch: nothing });
}

async function collect(content: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const all: Uint8Array[] = [];
  for await (const chunk of content) all.push(chunk);
  return all;
}

const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64');
const text = { type: 'text', text: 'x' };

describe('the input of a run', () => {
  it.each(['x', { type: 'file' }, [text, { type: 'data', data: 1 }]])(
    '%j is what was sent, and nothing else',
    async (input) => {
      expect(await read(input)).toEqual({ value: input, readable: input, files: [] });
    },
  );

  it('gives the bytes of every file, wherever they are, as often as they are asked for', async () => {
    const image = { type: 'image', media_type: 'image/png', data: base64('png') };
    const upload = { type: 'file', artifact_id: ARTIFACT };
    const { value, files } = await read([text, image, upload], { text: 'stored', media_type: 'text/csv' });
    expect(value).toEqual([text, image, upload]);
    expect(files.map(({ open: _open, ...file }) => file)).toEqual([
      { index: 1, type: 'image', mediaType: 'image/png', size: 3 },
      { index: 2, type: 'file', mediaType: 'text/csv', name: 'up.txt', size: 6 },
    ]);
    for (let time = 1; time <= 2; time += 1) {
      const bytes = await Promise.all(files.map(async (file) => Buffer.concat(await collect(file.open()))));
      expect(bytes.map(String)).toEqual(['png', 'stored']);
    }
  });

  it('is readable with text files as texts, in the character set they say they are in', async () => {
    const latin = { type: 'file', media_type: 'text/plain; charset=iso-8859-1', data: base64(Buffer.from([0xe9])) };
    const upload = { type: 'file', artifact_id: ARTIFACT, name: 'mine' };
    const { readable } = await read([latin, text, upload], { text: 'gespeichert ü', media_type: 'text/markdown' });
    expect(readable).toEqual([{ type: 'text', text: 'é' }, text, { type: 'text', text: 'gespeichert ü' }]);
  });

  it('keeps a file that is no text, not the text it says it is, or too large', async () => {
    const part = (media_type: string, bytes: Buffer): object => ({ type: 'file', media_type, data: base64(bytes) });
    const parts = [
      part('application/pdf', Buffer.from('%PDF')),
      part('text/plain', Buffer.from([0xff, 0xfe, 0x41])),
      part('text/plain; charset=klingon', Buffer.from('x')),
      part('text/plain', Buffer.alloc(4_194_305, 'x')),
    ];
    expect((await read(parts)).readable).toEqual(parts);
  });

  it('is refused when the bytes of a text are gone', async () => {
    const inputArtifacts = [
      { artifact_id: ARTIFACT, kind: 'input', name: 'a', media_type: 'text/plain', size: 1, sha256: 'ab' },
    ] as const;
    const claim = createClaim({ input: JSON.stringify([{ type: 'file', artifact_id: ARTIFACT }]), inputArtifacts });
    await expect(async () =>
      readRunInput(claim, { blobs: new MemoryBlobStore(), fetch: nothing }),
    ).rejects.toMatchObject({
      name: 'AdapterError',
      kind: 'rejected',
      details: { effects: 'none' },
    });
  });
});
