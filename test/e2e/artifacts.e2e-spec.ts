import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SCOPES } from '#lib/domain';
import { LinkSigner } from '#lib/security';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { S3Server } from '../support/s3-server.js';
import { until } from '../support/until.js';

jest.setTimeout(60_000);

const LINK_KEYS = `old:${Buffer.alloc(32, 1).toString('base64')}`;
const MAX_UPLOAD = 3_000_000;

let database: TestDatabase;
let installation: Installation;
let storage: string;
let here: string;
let there: string;
let keys: Record<'ann' | 'bob' | 'boss' | 'reader' | 'stranger', string>;

beforeAll(async () => {
  database = await createDatabase();
  storage = await mkdtemp(path.join(tmpdir(), 'switchyard-artifacts-'));
  const own = SCOPES.filter((scope) => scope !== 'tasks:all');
  keys = await createKeys(database.url, {
    ann: { principal: 'ann', scopes: own },
    bob: { principal: 'bob', scopes: own },
    boss: { principal: 'zoe' },
    reader: { principal: 'ann', scopes: ['tasks:read'] },
    stranger: { tenant: 'other', principal: 'ann' },
  });
  installation = await Installation.start({
    databaseUrl: database.url,
    gateways: 2,
    runtimes: 1,
    env: { STORAGE_DIR: storage, LINK_KEYS, MAX_UPLOAD_BYTES: String(MAX_UPLOAD) },
  });
  [here, there] = installation.gateways.map(({ url }) => url) as [string, string];
});

afterAll(async () => {
  await installation?.stop();
  await rm(storage, { recursive: true, force: true });
  await database?.drop();
});

interface Artifact {
  readonly artifact_id: string;
  readonly download_url: string;
  readonly sha256: string;
  readonly size: number;
}

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

async function upload(
  bytes: Buffer | string,
  { key = keys.ann, url = here, name = 'file.bin', headers = {} } = {},
): Promise<{ status: number; headers: Headers; body: Artifact & Record<string, unknown> }> {
  const response = await fetch(`${url}/v1/artifacts?name=${encodeURIComponent(name)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/octet-stream', ...headers },
    body: bytes,
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as never };
}

/** Sends a path exactly as it is spelt; `fetch` would mend it. */
function raw(
  url: string,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<{ status: number; headers: IncomingHttpHeaders; body: string }> {
  const [, hostname, port, target] = /^http:\/\/([^:/]+):(\d+)(.*)$/.exec(url) as unknown as string[];
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, method, path: target, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          body: Buffer.concat(chunks).toString('latin1'),
        }),
      );
    });
    request.on('error', reject);
    request.end();
  });
}

async function count(table: string): Promise<number> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query<{ n: number }>(`select count(*)::int as n from switchyard.${table}`)).rows[0]!.n;
  } finally {
    await client.end();
  }
}

/** Every file of the storage, those on their way in among them. */
async function files(): Promise<string[]> {
  const all = await readdir(storage, { recursive: true, withFileTypes: true });
  return all.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}

describe('an upload', () => {
  it('on one gateway is read on the other by its owner and the tenant, and by nobody else', async () => {
    const bytes = randomBytes(1_000_000);
    const { status, headers, body } = await upload(bytes, {
      name: 'Übersicht 2026.csv',
      headers: { 'content-type': 'text/csv', 'x-sha256': sha256(bytes) },
    });
    expect([status, headers.get('location')]).toEqual([201, `/v1/artifacts/${body.artifact_id}`]);
    expect(body).toEqual({
      artifact_id: expect.stringMatching(/^art_[0-9a-f]{32}$/),
      kind: 'input',
      name: 'Übersicht 2026.csv',
      media_type: 'text/csv',
      size: bytes.length,
      sha256: sha256(bytes),
      created_at: expect.stringMatching(/Z$/),
      download_url: expect.stringContaining(`${here}/v1/artifacts/${body.artifact_id}/content?exp=`),
      download_expires_at: expect.stringMatching(/Z$/),
    });
    const read = (key: string): ReturnType<typeof call> => call(`${there}/v1/artifacts/${body.artifact_id}`, { key });
    const mine = await read(keys.reader);
    expect([mine.status, mine.body['sha256']]).toEqual([200, sha256(bytes)]);
    expect((await read(keys.boss)).status).toBe(200);
    expect([(await read(keys.bob)).status, (await read(keys.stranger)).status]).toEqual([404, 404]);

    const download = await fetch((mine.body as unknown as Artifact).download_url);
    expect(Buffer.from(await download.arrayBuffer()).equals(bytes)).toBe(true);
    expect(download.headers.get('content-disposition')).toBe(
      `attachment; filename="_bersicht 2026.csv"; filename*=UTF-8''%C3%9Cbersicht%202026.csv`,
    );
  });

  it('is listed to its owner, oldest first', async () => {
    const second = await upload('second');
    const list = await call(`${there}/v1/artifacts`, { key: keys.ann });
    const ids = (list.body['artifacts'] as Artifact[]).map(({ artifact_id }) => artifact_id);
    expect([ids.at(-1), list.body['next_cursor']]).toEqual([second.body.artifact_id, null]);
    const others = await call(`${there}/v1/artifacts`, { key: keys.bob });
    expect(others.body['artifacts']).toEqual([]);
  });

  it('that is refused leaves neither row nor file, and its sender gets to read why', async () => {
    const [rows, audited, before] = [await count('artifacts'), await count('audit_records'), await files()];
    const large = randomBytes(MAX_UPLOAD + 1_000_000);
    const chunked = async (): Promise<number> => {
      const pieces = new ReadableStream<Uint8Array>({
        start: (controller) => {
          for (let at = 0; at < large.length; at += 65_536) controller.enqueue(large.subarray(at, at + 65_536));
          controller.close();
        },
      });
      const response = await fetch(`${here}/v1/artifacts?name=x`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keys.ann}` },
        body: pieces,
        duplex: 'half',
      });
      return response.status;
    };
    const statuses = [
      (await upload(large)).status,
      await chunked(),
      (await upload('abc', { headers: { 'x-sha256': sha256('abd') } })).status,
      (await upload('abc', { key: keys.reader })).status,
      (await upload('abc', { key: 'swy_nobody_x' })).status,
    ];
    expect(statuses).toEqual([413, 413, 400, 403, 401]);
    expect([await count('artifacts'), await count('audit_records'), await files()]).toEqual([rows, audited, before]);
  });

  it('whose sender leaves half way leaves nothing', async () => {
    const [rows, before] = [await count('artifacts'), await files()];
    const { hostname, port } = new URL(here);
    const sender = httpRequest({
      hostname,
      port,
      method: 'POST',
      path: '/v1/artifacts?name=x',
      headers: { authorization: `Bearer ${keys.ann}`, 'content-length': '1000000' },
    });
    sender.on('error', () => undefined);
    sender.write(randomBytes(500_000));
    await until(async () => (await files()).length > before.length, { what: 'the upload to begin' });
    sender.destroy();
    await until(async () => (await files()).length === before.length, { what: 'the upload to be forgotten' });
    expect(await count('artifacts')).toBe(rows);
  });

  it('is not asked for its body before key and scope are known to be good', async () => {
    const { hostname, port } = new URL(here);
    const status = await new Promise((resolve, reject) => {
      const sender = httpRequest({
        hostname,
        port,
        method: 'POST',
        path: '/v1/artifacts?name=x',
        headers: { authorization: `Bearer ${keys.reader}`, 'content-length': '1000000' },
      });
      // Not a byte of the body is sent: who waits for it would not answer.
      sender.on('response', (response) => {
        resolve(response.statusCode);
        sender.destroy();
      });
      sender.on('error', reject);
      sender.flushHeaders();
    });
    expect(status).toBe(403);
  });
});

describe('a signed link', () => {
  const text = 'abcdefghij'.repeat(20_000);
  let link: string;
  let id: string;

  beforeAll(async () => {
    const { body } = await upload(text, { name: '../../etc/passwd' });
    [link, id] = [body.download_url, body.artifact_id];
  });

  it('gives the bytes on either gateway, whole or in part', async () => {
    const other = link.replace(here, there);
    const whole = await raw(other);
    expect([whole.status, whole.body === text, whole.headers['etag']]).toEqual([200, true, `"${sha256(text)}"`]);
    expect(whole.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'x-content-type-options': 'nosniff',
      'content-disposition': 'attachment; filename="passwd"',
      'content-security-policy': "default-src 'none'; sandbox",
      'accept-ranges': 'bytes',
    });
    const part = await raw(other, { headers: { range: 'bytes=100000-100004', 'if-range': `"${sha256(text)}"` } });
    expect([part.status, part.body, part.headers['content-range']]).toEqual([
      206,
      'abcde',
      `bytes 100000-100004/${text.length}`,
    ]);
    const end = await raw(other, { headers: { range: 'bytes=-3' } });
    expect([end.status, end.body]).toEqual([206, 'hij']);
    const beyond = await raw(other, { headers: { range: `bytes=${text.length}-` } });
    expect([beyond.status, beyond.headers['content-range']]).toEqual([416, `bytes */${text.length}`]);
    const head = await raw(other, { method: 'HEAD', headers: { range: 'bytes=0-1' } });
    expect([head.status, head.headers['content-length'], head.body]).toEqual([200, String(text.length), '']);
    const known = await raw(other, { headers: { 'if-none-match': `"${sha256(text)}"` } });
    expect([known.status, known.body]).toEqual([304, '']);
  });

  it('that is changed in any way is refused with 403, whatever range is asked for', async () => {
    const { search } = new URL(link);
    const base = `${here}/v1/artifacts`;
    const other = (await upload('other')).body.artifact_id;
    const exp = Number(new URL(link).searchParams.get('exp'));
    const changed = [
      `${base}/${other}/content${search}`,
      `${base}/${id.toUpperCase()}/content${search}`,
      `${base}/${id}%2f..%2f${other}/content${search}`,
      `${base}/..%2f${id}/content${search}`,
      `${base}/%2e%2e%2f%2e%2e%2fetc%2fpasswd/content${search}`,
      `${base}/${id}%00/content${search}`,
      `${base}/${id}%C0%AF/content${search}`,
      `${base}/%EF%BD%81rt_${id.slice(4)}/content${search}`,
      `${base}/%61rt_${id.slice(4)}/content${search}`,
      `${base}//${id}/content${search}`,
      link.replace(`exp=${exp}`, `exp=${exp + 1}`),
      link.replace(`exp=${exp}`, `exp=${exp}.0`),
      link.replace(`exp=${exp}`, `exp=%2B${exp}`),
      link.replace(`exp=${exp}`, 'exp='),
      link.replace('sig=old.', 'sig=older.'),
      link.replace('sig=old.', 'sig='),
      link.replace(/sig=.*/, 'sig='),
      link.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
      `${base}/${id}/content`,
    ];
    const ranges = [undefined, 'bytes=0-', 'bytes=0-0,1-1,2-2', 'bytes=-99999999999999999999', 'bytes=x'];
    const wrong: string[] = [];
    for (const url of changed) {
      for (const range of ranges) {
        const answer = await raw(url, { headers: range === undefined ? {} : { range } });
        // A path that is no path of ours, or cannot be decoded, has no link to check.
        const isNoPath = url.includes(`//${id}`) || url.includes('%C0');
        if (answer.status !== 403 && !(isNoPath && [400, 404].includes(answer.status)))
          wrong.push(`${url} ${range}: ${answer.status}`);
        if (answer.body.includes('abcdefghij')) wrong.push(`${url} ${range} gave the bytes`);
      }
    }
    expect(wrong).toEqual([]);
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) expect((await raw(link, { method })).status).toBe(405);
  });

  it('that has expired is refused with 403, though we signed it', async () => {
    const path = `/v1/artifacts/${id}/content`;
    const signer = new LinkSigner([{ id: 'old', secret: Buffer.alloc(32, 1) }]);
    const now = Math.floor(Date.now() / 1_000);
    const linkUntil = (exp: number): string => {
      const sig = signer.sign({ method: 'GET', path, exp: String(exp) });
      return `${here}${path}?exp=${exp}&sig=${encodeURIComponent(sig)}`;
    };
    expect((await raw(linkUntil(now + 60))).status).toBe(200);
    expect((await raw(linkUntil(now - 1))).status).toBe(403);
    expect((await raw(linkUntil(now - 1), { method: 'HEAD' })).status).toBe(403);
  });

  it('outlives a new key, and ends with the one that signed it', async () => {
    const fresh = `new:${Buffer.alloc(32, 2).toString('base64')}`;
    const rotated = await installation.addGateway({ LINK_KEYS: `${fresh},${LINK_KEYS}` });
    const revoked = await installation.addGateway({ LINK_KEYS: fresh });
    expect((await raw(link.replace(here, rotated.url))).status).toBe(200);
    expect((await raw(link.replace(here, revoked.url))).status).toBe(403);
    const again = await call(`${rotated.url}/v1/artifacts/${id}`, { key: keys.ann });
    const newer = String(again.body['download_url']);
    expect(newer).toMatch(/&sig=new\./);
    expect((await raw(newer.replace(rotated.url, revoked.url))).status).toBe(200);
    expect((await raw(newer.replace(rotated.url, here))).status).toBe(403);
  });

  it.each([
    ['refused at once', 1_000, { status: 500 }],
    ['broken off before the end', 500_000, { code: 'ECONNRESET' }],
  ])('to bytes that have changed in storage is %s, and the operator is told', async (_how, size, expected) => {
    const { body } = await upload(randomBytes(size));
    const file = (await files()).find((name) => name.endsWith(body.sha256))!;
    const stored = await readFile(file);
    stored[stored.length - 1]! ^= 1;
    await writeFile(file, stored);
    const answer = await raw(body.download_url).catch((error: NodeJS.ErrnoException) => error);
    expect(answer).toMatchObject(expected);
    await until(() => installation.gateways[0]!.log.includes(body.artifact_id), { what: 'a line in the log' });
  });
});

describe('with a bucket in place of a folder', () => {
  let server: S3Server;
  let other: TestDatabase;
  let bucket: Installation;

  beforeAll(async () => {
    server = await S3Server.start();
    other = await createDatabase();
    const env = { ...server.settings };
    bucket = await Installation.start({ databaseUrl: other.url, gateways: 2, runtimes: 1, env });
  });

  afterAll(async () => {
    await bucket?.stop();
    await server?.stop();
    await other?.drop();
  });

  it('what is uploaded to one gateway, and what a run keeps, is read from the other', async () => {
    const [one, two] = bucket.gateways.map(({ url }) => url) as [string, string];
    const bytes = randomBytes(6_000_000);
    const sent = await upload(bytes, { url: one, key: ADMIN_KEY, headers: { 'x-sha256': sha256(bytes) } });
    expect(sent.status).toBe(201);
    const got = await fetch(sent.body.download_url.replace(one, two), { headers: { range: 'bytes=5999990-' } });
    expect(Buffer.from(await got.arrayBuffer()).equals(bytes.subarray(5_999_990))).toBe(true);

    const script = [{ artifact: { name: 'report.txt', text: 'the report' } }, { result: 'done' }];
    await call(`${one}/v1/tasks`, { body: { task_id: 'kept', agent_id: 'scripted', input: { script } } });
    await call(`${one}/v1/tasks/kept/wait?timeout_seconds=30`);
    const { body } = await call(`${two}/v1/tasks/kept/artifacts`);
    const [artifact] = body['artifacts'] as Artifact[];
    expect(await (await fetch(artifact!.download_url)).text()).toBe('the report');
  });
});
