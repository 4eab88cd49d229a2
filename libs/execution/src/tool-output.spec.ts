import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryBlobStore } from '../../../test/support/memory-blob-store.js';
import { ArtifactKeeper } from './artifact.keeper.js';
import { asStreamed, storeOutput, type StreamedOutput } from './tool-output.js';

function setUp(): { blobs: MemoryBlobStore; keeper: ArtifactKeeper; only: () => Buffer | undefined } {
  const blobs = new MemoryBlobStore();
  const keeper = new ArtifactKeeper(blobs, { tenant: 't', origin: 'scripted', known: [] });
  return { blobs, keeper, only: () => [...blobs.blobs.values()][0] };
}

async function* chunks(...items: unknown[]): StreamedOutput {
  for (const item of items) yield item as string;
}

describe('output that comes in pieces', () => {
  it.each([
    [['']],
    [['short ', 'text']],
    [[Buffer.from('short '), 'text']],
    [[Buffer.from([0xf0, 0x9f]), Buffer.from([0x92, 0xa9])]],
  ])('of %j is handed on as the text it is', async (pieces) => {
    const { keeper, blobs } = setUp();
    const { value, kept } = await storeOutput(chunks(...pieces), keeper);
    expect([value, kept, blobs.blobs.size]).toEqual([
      Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString(),
      undefined,
      0,
    ]);
  });

  it('is an artifact with a preview when it is long', async () => {
    const { keeper, only } = setUp();
    const { value, kept } = await storeOutput(chunks('ä'.repeat(5_000), 'ö'.repeat(200_000)), keeper);
    expect(value).toEqual({
      artifact_id: kept!.artifact.artifact_id,
      size: 410_000,
      sha256: kept!.artifact.sha256,
      preview: 'ä'.repeat(1_024),
    });
    expect(kept!.artifact).toMatchObject({
      kind: 'offload',
      name: 'output.txt',
      media_type: 'text/plain; charset=utf-8',
    });
    expect(kept!.events.map(({ body }) => body.type)).toEqual(['artifact.created']);
    expect(only()!.toString()).toBe('ä'.repeat(5_000) + 'ö'.repeat(200_000));
  });

  it('is an artifact without a preview when it is no text, however short', async () => {
    for (const bytes of [Buffer.from([0xff, 0x00]), Buffer.alloc(100_000), Buffer.from('a\0b')]) {
      const { keeper, only } = setUp();
      const { value, kept } = await storeOutput(chunks(bytes), keeper);
      expect(value).toMatchObject({ size: bytes.length, preview: '' });
      expect(kept!.artifact).toMatchObject({ name: 'output.bin', media_type: 'application/octet-stream' });
      expect(only()!.equals(bytes)).toBe(true);
    }
  });

  it('keeps every character, wherever the pieces are cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), fc.array(fc.nat(400)), async (text, cuts) => {
        const long = text.padEnd(1, 'x').repeat(300);
        const places = [...new Set(cuts.map((cut) => cut % long.length))].sort((a, b) => a - b);
        const pieces = [...places, long.length].map((place, index) => long.slice(places[index - 1] ?? 0, place));
        const { keeper, only } = setUp();
        const { value } = await storeOutput(chunks(...pieces), keeper);
        const stored = typeof value === 'string' ? value : only()!.toString();
        expect(stored).toBe(Buffer.from(long).toString());
      }),
      { numRuns: 50 },
    );
  });

  it('is refused when it holds what is neither bytes nor text, and frees its source', async () => {
    let isFreed = false;
    async function* wrong(): AsyncGenerator<unknown> {
      try {
        yield 'x'.repeat(10_000);
        yield 7;
      } finally {
        isFreed = true;
      }
    }
    const { keeper, blobs } = setUp();
    await expect(storeOutput(wrong() as StreamedOutput, keeper)).rejects.toMatchObject({ name: 'ProtocolError' });
    expect([isFreed, blobs.blobs.size]).toEqual([true, 0]);
  });
});

describe('what a tool answers', () => {
  it.each([[undefined], [null], [7], ['text'], [{ a: 1 }], [[1]]])('is left as it is when it is %j', (output) => {
    expect(asStreamed(output)).toBeUndefined();
  });

  it('is treated as a stream when it is one, bytes, or a very long text', () => {
    for (const output of [chunks('x'), Buffer.from('x'), 'x'.repeat(300_000), new ReadableStream()]) {
      expect(typeof asStreamed(output)?.[Symbol.asyncIterator]).toBe('function');
    }
  });
});
