import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';

jest.setTimeout(90_000);

const MB = 1_048_576;
/** What a gateway may keep of a thousand hostile requests: what V8 has not given back yet, not what grows with them. */
const MAX_GROWTH_MB = 96;

let database: TestDatabase;
let installation: Installation;
let url: string;

beforeAll(async () => {
  database = await createDatabase();
  installation = await Installation.start({ databaseUrl: database.url, gateways: 1, runtimes: 0 });
  url = installation.gateways[0]!.url;
});

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
});

interface Hostile {
  readonly what: string;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
}

const text = (what: string, body: string, status: number): Hostile => ({ what, body: Buffer.from(body), status });
const encoded = (encoding: string, body: Buffer): Hostile => ({
  what: encoding,
  body,
  headers: { 'content-encoding': encoding },
  status: 415,
});

const BOMB = gzipSync(Buffer.alloc(100 * MB, 0x20));
const TEN_MB = Buffer.alloc(10 * MB, 0x78);
const filled = (count: number, piece: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => piece(index)).join(',');

const HOSTILE: readonly Hostile[] = [
  text('a prototype', '{"input":"x","__proto__":{"isAdmin":true}}', 400),
  text('a prototype further in', '{"input":{"a":[{"__proto__":{"isAdmin":true}}]}}', 400),
  text('a prototype that is spelt otherwise', '{"input":{"\\u005f_proto__":{"isAdmin":true}}}', 400),
  text('a constructor', '{"input":"x","constructor":{"prototype":{"isAdmin":true}}}', 400),
  text('a constructor in the context', '{"input":"x","context":{"user_id":{"constructor":{"prototype":{}}}}}', 400),
  text('a hundred levels', `{"input":${'['.repeat(100)}${']'.repeat(100)}}`, 400),
  text('a million levels', `{"input":${'['.repeat(1_000_000)}`, 400),
  text('levels of objects', `{"input":${'{"a":'.repeat(150_000)}`, 400),
  text('a key twice', '{"input":"x","input":"y"}', 400),
  text('a key twice among many', `{"input":{${filled(50_000, (index) => `"k${index % 49_999}":1`)}}}`, 400),
  text('a number of a million digits', `{"input":${'9'.repeat(1_000_000)}}`, 400),
  text('no end', `{"input":"${'x'.repeat(1_000_000)}`, 400),
  { what: 'ten megabytes', body: TEN_MB, status: 413 },
  { what: 'ten megabytes in pieces', body: TEN_MB, headers: { 'transfer-encoding': 'chunked' }, status: 413 },
  encoded('gzip', BOMB),
  encoded('deflate', BOMB),
  encoded('br', BOMB),
  encoded('GZIP', BOMB),
  encoded('identity, gzip', BOMB),
  encoded('x-gzip', BOMB),
  encoded('zstd', BOMB),
];

const TOO_LONG: Hostile = {
  what: 'two megabytes in pieces',
  body: TEN_MB.subarray(0, 2 * MB),
  headers: { 'transfer-encoding': 'chunked' },
  status: 413,
};

/** Sends bytes that no client library would. */
function send({ body, headers }: Hostile): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}/v1/tasks`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json', ...headers },
    });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      let answer = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (answer += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: answer }));
    });
    outgoing.end(body);
  });
}

async function memory(): Promise<number> {
  const status = await readFile(`/proc/${installation.gateways[0]!.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}

describe('a body that is meant to do harm', () => {
  it.each(HOSTILE.map((each) => [each.what, each.status, each] as const))(
    'with %s is %i and said to be',
    async (_what, status, hostile) => {
      const answer = await send(hostile);
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.text)).toMatchObject({ status, code: expect.any(String) });
    },
  );

  it('leaves nothing behind however often it comes: neither tasks, nor keys on what others see, nor memory', async () => {
    const round = async (): Promise<void> => {
      for (let at = 0; at < HOSTILE.length; at += 7) await Promise.all(HOSTILE.slice(at, at + 7).map(send));
    };
    for (let index = 0; index < 5; index++) await round();
    const before = await memory();
    for (let index = 0; index < 10; index++) await round();
    // As much of each as may be read before it is refused: kept, it would be seen.
    for (let index = 0; index < 30; index++) await Promise.all(Array.from({ length: 6 }, () => send(TOO_LONG)));
    expect(((await memory()) - before) / MB).toBeLessThan(MAX_GROWTH_MB);
    const { body } = await call(`${url}/v1/tasks`);
    expect(body['tasks']).toEqual([]);
    const submitted = await call(`${url}/v1/tasks`, { body: { agent_id: 'scripted', input: { toString: 1 } } });
    expect([submitted.status, Object.keys(submitted.body).includes('isAdmin')]).toEqual([202, false]);
  });
});

/** Members that are something else than their form has, by where they stand in a message of A2A 1.0. */
const ILL_FORMED: readonly (readonly [string, unknown])[] = [
  ['/message', 'hello'],
  ['/message/messageId', { toString: 1 }],
  ['/message/contextId', {}],
  ['/message/extensions/0', 5],
  ['/message/parts', { length: -1 }],
  ['/message/parts/0', null],
  ['/message/parts/0/text', ['x']],
  ['/message/parts/0/mediaType', 1],
  ['/message/parts/0/raw', 1e300],
  ['/message/parts/0/raw', 'no base64!'],
  ['/configuration/historyLength', '1'],
  ['/configuration/historyLength', -1],
  ['/configuration/returnImmediately', 'false'],
  ['/configuration/taskPushNotificationConfig/url', { toString: 1 }],
  ['/metadata', 'x'],
];

describe('a message of A2A', () => {
  const nested = (path: readonly string[], value: unknown): unknown => {
    const [name, ...rest] = path;
    if (name === undefined) return value;
    return name === '0' ? [nested(rest, value)] : { [name]: nested(rest, value) };
  };
  const headers = { 'a2a-version': '1.0' };

  it.each(ILL_FORMED)('with something else at %s is refused on either binding, which say where', async (at, value) => {
    const params = nested(at.slice(1).split('/'), value);
    const details = [{}, { fieldViolations: [{ field: at }] }];
    const rest = await call(`${url}/a2a/scripted/rest/message:send`, { headers, body: params });
    expect([rest.status, rest.body]).toMatchObject([400, { error: { details } }]);
    for (const method of ['SendMessage', 'SendStreamingMessage']) {
      const envelope = { jsonrpc: '2.0', id: 7, method, params };
      const rpc = await call(`${url}/a2a/scripted/jsonrpc`, { headers, body: envelope });
      expect(rpc.body).toMatchObject({ id: 7, error: { code: -32602, data: details } });
    }
  });

  it.each([
    ['message/send', { message: { messageId: 'm', role: 'user', parts: [{ kind: 'file', file: true }] } }],
    ['message/send', { message: { messageId: 'm', role: 'user', parts: [{ kind: 'file', file: { mimeType: 1 } }] } }],
    ['message/send', { message: { messageId: 'm', role: 'user', parts: [{ kind: 'file', file: { bytes: null } }] } }],
    ['message/send', { message: { messageId: 'm', role: 'user', parts: [null] } }],
    ['tasks/get', { id: { toString: 1 } }],
    ['tasks/resubscribe', { id: {} }],
    ['tasks/pushNotificationConfig/set', { taskId: 't' }],
    ['tasks/pushNotificationConfig/set', { taskId: 't', pushNotificationConfig: { authentication: { schemes: 'x' } } }],
  ])('of 0.3, for %s with %j, is refused for what it is', async (method, params) => {
    const body = { jsonrpc: '2.0', id: 7, method, params };
    const answer = await fetch(`${url}/a2a/scripted/jsonrpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(await answer.text()).toMatch(/"code":-32602,"message":"\/(?:message\/parts\/0|id|pushNotificationConfig)/);
  });
});
