import { describe, expect, it } from '@jest/globals';
import type { ArtifactId, ArtifactRecord, Scope, TaskKey, TaskSnapshot, TaskStore } from '#lib/domain';
import { LinkSigner } from '#lib/security';
import { MemoryBlobStore } from '../../../../test/support/memory-blob-store.js';
import { SilentLogger } from '../../../../test/support/silent-logger.js';
import { ArtifactsService, type ContentRequest } from './artifacts.service.js';
import type { Caller } from './caller.js';

const NOW = 1_700_000_000_500;
const ann: Caller = { tenant: 't', principal: 'ann', keyId: 'k', scopes: new Set<Scope>(['tasks:read']) };

async function setUp(change: Partial<ArtifactRecord> = {}): Promise<{
  artifacts: ArtifactsService;
  clock: { nowMs: number };
  record: ArtifactRecord;
  blobs: MemoryBlobStore;
}> {
  const blobs = new MemoryBlobStore();
  const { sha256, size } = await blobs.put(
    't',
    (async function* () {
      yield Buffer.from('<h1>hi</h1>');
    })(),
  );
  const record: ArtifactRecord = {
    artifact_id: 'art_00000000000000000000000000000001',
    kind: 'produced',
    name: 'page.html',
    media_type: 'text/html',
    size,
    sha256,
    taskKey: 'key-1' as TaskKey,
    tenant: 't',
    createdAtMs: 0,
    ...change,
  };
  const isOwner = (scope: { tenant: string; principal?: string }): boolean =>
    scope.tenant === 't' && (scope.principal ?? 'ann') === 'ann';
  const store: Pick<TaskStore, 'snapshot' | 'artifact' | 'artifacts' | 'linkedArtifact'> = {
    snapshot: async (scope, taskId) =>
      isOwner(scope) ? ({ taskKey: (taskId as string).replace('t-', 'key-') } as TaskSnapshot) : undefined,
    artifact: async (scope, id) => (isOwner(scope) && id === record.artifact_id ? record : undefined),
    artifacts: async () => ({ items: [record], nextCursor: 'next' }),
    linkedArtifact: async (id) => (id === record.artifact_id ? record : undefined),
  };
  const clock = { nowMs: NOW };
  const links = {
    publicUrl: () => 'https://swy.example',
    signer: new LinkSigner([{ id: 'k', secret: Buffer.alloc(32, 1) }]),
  };
  const ports = { tasks: store as TaskStore, blobs, logger: new SilentLogger() };
  return { artifacts: new ArtifactsService(ports, links, () => clock.nowMs), clock, record, blobs };
}

function requestOf(link: string, method = 'GET'): ContentRequest {
  const url = new URL(link);
  const [exp, sig] = ['exp', 'sig'].map((name) => url.searchParams.get(name)!);
  return { method, path: url.pathname, artifactId: url.pathname.split('/')[3]!, exp: exp!, sig: sig! };
}

async function read(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe('a link to an artifact', () => {
  it('leads to its bytes, as a download no browser runs', async () => {
    const { artifacts, record } = await setUp();
    const { downloadUrl, downloadExpiresAtMs } = await artifacts.get(
      ann,
      't-1',
      'art_00000000000000000000000000000001',
    );
    expect(downloadUrl).toMatch(
      /^https:\/\/swy\.example\/v1\/artifacts\/art_00000000000000000000000000000001\/content\?exp=1700000600&sig=k\.[\w-]{43}$/,
    );
    expect(downloadExpiresAtMs).toBe(1_700_000_600_000);
    const { headers, size, etag, ...content } = await artifacts.open(requestOf(downloadUrl));
    expect(await read(await content.read())).toBe('<h1>hi</h1>');
    expect(await read(await content.read({ start: 1, end: 3 }))).toBe('h1');
    expect([size, etag]).toEqual([11, `"${record.sha256}"`]);
    expect(headers).toEqual({
      'Content-Type': 'text/html',
      'Content-Disposition': 'attachment; filename="page.html"',
      'Cross-Origin-Resource-Policy': 'cross-origin',
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "default-src 'none'; sandbox",
      'Cache-Control': 'private, max-age=600',
    });
  });

  it('also stands for HEAD', async () => {
    const { artifacts } = await setUp();
    const { downloadUrl } = await artifacts.get(ann, 't-1', 'art_00000000000000000000000000000001');
    expect((await artifacts.open(requestOf(downloadUrl, 'HEAD'))).size).toBe(11);
  });

  it('gives out nothing of bytes that have changed or are missing', async () => {
    const { artifacts, record, blobs } = await setUp();
    const content = await artifacts.open(
      requestOf((await artifacts.get(ann, 't-1', 'art_00000000000000000000000000000001')).downloadUrl),
    );
    blobs.blobs.set(`t/${record.sha256}`, Buffer.from('<h1>ho</h1>'));
    await expect(content.read()).rejects.toMatchObject({ name: 'CorruptBlobError' });
    blobs.blobs.clear();
    await expect(content.read()).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is refused after ten minutes, for another artifact, and for another method', async () => {
    const { artifacts, clock } = await setUp();
    const link = requestOf((await artifacts.get(ann, 't-1', 'art_00000000000000000000000000000001')).downloadUrl);
    const forbidden = { code: 'forbidden' };
    await expect(
      artifacts.open({
        ...link,
        path: link.path.replace('art_00000000000000000000000000000001', 'art_00000000000000000000000000000002'),
      }),
    ).rejects.toMatchObject(forbidden);
    await expect(artifacts.open({ ...link, method: 'DELETE' })).rejects.toMatchObject(forbidden);
    await expect(artifacts.open({ ...link, sig: '' })).rejects.toMatchObject(forbidden);
    clock.nowMs += 600_000;
    await expect(artifacts.open(link)).rejects.toMatchObject(forbidden);
  });

  it.each(['text/html\r\nX-Evil: 1', 'nonsense', '', 'text/plain; charset="utf-8"; x'])(
    'does not repeat the media type %j',
    async (media_type) => {
      const { artifacts } = await setUp({ media_type });
      const { headers } = await artifacts.open(
        requestOf((await artifacts.get(ann, 't-1', 'art_00000000000000000000000000000001')).downloadUrl),
      );
      expect(headers['Content-Type']).toBe('application/octet-stream');
    },
  );
});

describe('artifacts', () => {
  it('are those of the task that is named, and of nobody else', async () => {
    const { artifacts } = await setUp();
    const missing = { code: 'not_found' };
    await expect(artifacts.get(ann, 't-2', 'art_00000000000000000000000000000001')).rejects.toMatchObject(missing);
    await expect(artifacts.get(ann, 't-1', 'art_00000000000000000000000000000002')).rejects.toMatchObject(missing);
    await expect(
      artifacts.get({ ...ann, principal: 'bob' }, 't-1', 'art_00000000000000000000000000000001'),
    ).rejects.toMatchObject(missing);
    await expect(artifacts.get(ann, '../x', 'art_00000000000000000000000000000001')).rejects.toMatchObject(missing);
    await expect(artifacts.list({ ...ann, tenant: 'u' }, 't-1', { limit: 1 })).rejects.toMatchObject(missing);
  });

  it('come as pages, each with its link', async () => {
    const { artifacts } = await setUp();
    const { items, nextCursor } = await artifacts.list(ann, 't-1', { limit: 1 });
    expect([items.map(({ artifact_id }) => artifact_id as ArtifactId), nextCursor]).toEqual([
      ['art_00000000000000000000000000000001'],
      'next',
    ]);
  });
});
