import { afterEach, describe, expect, it } from '@jest/globals';
import type { ArtifactBody, FilePart } from '#lib/domain';
import type { ArtifactSource } from '#lib/execution';
import { GuardedOutbound, parseOutboundRules } from '#lib/security';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fetchInputs } from './input.fetcher.js';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

/** The URL of a server that the guard lets through. */
async function serve(listener: RequestListener): Promise<string> {
  server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/x?token=secret`;
}

async function fetchPart(part: Partial<FilePart>, artifacts: readonly ArtifactBody[] = []): Promise<ArtifactBody> {
  const outbound = new GuardedOutbound({ rules: parseOutboundRules('artifact=127.0.0.1')!, allowPublic: false });
  const keep = async ({ kind, name, mediaType, origin, content }: ArtifactSource): Promise<ArtifactBody> => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    const sha256 = Buffer.concat(chunks).toString();
    return {
      artifact_id: 'art_1',
      kind,
      name,
      media_type: mediaType,
      size: sha256.length,
      sha256,
      origin: origin ?? '',
    };
  };
  const { signal } = new AbortController();
  return fetchInputs({ outbound, claim: { artifacts }, signal, keep })({ index: 2, part: { type: 'file', ...part } });
}

describe('a part of an input that names a URL', () => {
  it('becomes an artifact with the name and type it was given, else those it has', async () => {
    const url = await serve((_, response) => response.writeHead(200, { 'content-type': 'text/csv' }).end('a,b'));
    const common = { artifact_id: 'art_1', kind: 'input', size: 3, sha256: 'a,b', origin: '/input/2/url' };
    expect(await fetchPart({ url })).toEqual({ ...common, name: 'input-2', media_type: 'text/csv' });
    const named = { url, name: 'n.txt', media_type: 'text/plain' };
    expect(await fetchPart(named)).toEqual({ ...common, name: 'n.txt', media_type: 'text/plain' });
  });

  it('is fetched once: a later run takes what is stored', async () => {
    const stored: ArtifactBody = {
      ...{ artifact_id: 'art_9', kind: 'input', name: 'n', media_type: 'a/b', size: 1, sha256: 'x' },
      origin: '/input/2/url',
    };
    expect(await fetchPart({ url: 'http://10.0.0.1/' }, [stored])).toBe(stored);
  });

  it.each([
    [404, 'rejected'],
    [302, 'rejected'],
    [429, 'unavailable'],
    [503, 'unavailable'],
  ])('whose host answers with %i is %s', async (status, kind) => {
    const url = await serve((_, response) => response.writeHead(status).end());
    await expect(fetchPart({ url })).rejects.toMatchObject({ name: 'AdapterError', kind });
  });

  it('is rejected when it is not allowed or of another type, in words that do not tell the URL', async () => {
    const url = await serve((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<x>'));
    const refusals = [fetchPart({ url: 'http://169.254.169.254/?token=secret' }), fetchPart({ url, type: 'image' })];
    for (const refusal of refusals) {
      await expect(refusal).rejects.toMatchObject({ kind: 'rejected', message: expect.not.stringContaining('secret') });
    }
  });
});
