import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readSettings } from '#lib/platform';
import { S3Server } from '../../../test/support/s3-server.js';
import { openLockedObjects, type OpenLockedObjects } from './storage.js';
import { s3Of, STORAGE_SETTINGS } from './storage.settings.js';

const DAY_MS = 86_400_000;

let server: S3Server;
let between: Server;
let objects: OpenLockedObjects;
let refusal: number | undefined;
const puts: { url: string; headers: IncomingHttpHeaders }[] = [];

beforeAll(async () => {
  server = await S3Server.start();
  // Notes what is sent, which the server would not tell.
  between = createServer((incoming, response) => {
    const { method, url = '', headers } = incoming;
    if (method === 'PUT') puts.push({ url, headers });
    if (method === 'PUT' && refusal !== undefined) return void response.writeHead(refusal).end();
    const onwards = request(server.settings.S3_ENDPOINT + url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(onwards);
  });
  between.listen(0, '127.0.0.1');
  await once(between, 'listening');
  const { port } = between.address() as AddressInfo;
  const settings = readSettings(STORAGE_SETTINGS, { ...server.settings, S3_ENDPOINT: `http://127.0.0.1:${port}` });
  objects = await openLockedObjects(s3Of(settings, 'artifacts'), 400, 'AUDIT_HEADS_BUCKET');
});

afterAll(async () => {
  objects.close();
  between.closeAllConnections();
  await new Promise((resolve) => between.close(resolve));
  await server.stop();
});

describe('an object that nobody can remove', () => {
  it('is put with its lock, the end of that and a checksum, and is there to the byte', async () => {
    const content = '{"no":1}\n{"no":2}\n';
    await objects.put('audit-heads/1.jsonl', content);
    const [put] = puts;
    expect(put?.url).toMatch(/^\/artifacts\/audit-heads\/1\.jsonl(\?|$)/);
    expect(put?.headers).toMatchObject({
      'x-amz-object-lock-mode': 'COMPLIANCE',
      'x-amz-checksum-sha256': createHash('sha256').update(content).digest('base64'),
    });
    const until = Date.parse(String(put?.headers['x-amz-object-lock-retain-until-date']));
    expect(Math.abs(until - Date.now() - 400 * DAY_MS)).toBeLessThan(60_000);
    const stored = await fetch(`${server.settings.S3_ENDPOINT}/artifacts/audit-heads/1.jsonl`);
    expect(await stored.text()).toBe(content);
  });

  it('can be put later when the store is away at the start, which a bucket that is not there cannot', async () => {
    const storage = s3Of(readSettings(STORAGE_SETTINGS, { ...server.settings }), 'artifacts');
    const later = await openLockedObjects({ ...storage, endpoint: 'http://127.0.0.1:1' }, 1, 'AUDIT_HEADS_BUCKET');
    await expect(later.put('a', 'x')).rejects.toBeDefined();
    later.close();
    await expect(openLockedObjects({ ...storage, bucket: 'none' }, 1, 'AUDIT_HEADS_BUCKET')).rejects.toMatchObject({
      code: 'unavailable',
      message: 'AUDIT_HEADS_BUCKET: the bucket cannot be used (404).',
    });
  });

  it('is not there when the bucket takes no locks, and whoever put it is told', async () => {
    refusal = 400;
    await expect(objects.put('audit-heads/2.jsonl', 'x')).rejects.toMatchObject({
      $metadata: { httpStatusCode: 400 },
    });
  });
});
