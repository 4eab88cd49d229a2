import { describe, expect, it } from '@jest/globals';
import type { ArtifactRecord, TaskKey, TaskSnapshot } from '#lib/domain';
import { ResultsService } from './results.service.js';

const ID = `art_${'0'.repeat(32)}`;

function textOf(record: Partial<ArtifactRecord> | undefined, bytes: string | undefined): Promise<string> {
  const artifact = record && ({ taskKey: 'key-1', kind: 'offload', size: 9, sha256: 's', ...record } as ArtifactRecord);
  async function* content(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(bytes!);
  }
  const service = new ResultsService({
    tasks: { artifact: async ({ tenant }, id) => (tenant === 'acme' && id === ID ? artifact : undefined) },
    blobs: { open: async () => (bytes === undefined ? undefined : content()) },
  });
  const result = { text: 'Begin…', metadata: { artifact: { artifact_id: ID } } };
  return service.textOf({ taskKey: 'key-1' as TaskKey, tenant: 'acme', result } as unknown as TaskSnapshot);
}

describe('the text of a result', () => {
  it('is read from the artifact that keeps what was too long', async () => {
    expect(await textOf({}, '{"text":"Begin and end","metadata":{}}')).toBe('Begin and end');
  });

  it.each<[string, Partial<ArtifactRecord> | undefined, string | undefined]>([
    ['an artifact of another task', { taskKey: 'key-2' as TaskKey }, '{"text":"Theirs"}'],
    ['one the runner made', { kind: 'produced' }, '{"text":"Made up"}'],
    ['one that is too large', { size: 8_388_609 }, '{"text":"Huge"}'],
    ['one that is gone', undefined, '{"text":"Gone"}'],
    ['bytes that are gone', {}, undefined],
    ['something else', {}, '["text"]'],
  ])('is its preview where the reference leads to %s', async (_what, record, bytes) => {
    expect(await textOf(record, bytes)).toBe('Begin…');
  });
});
