import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation } from '../support/installation.js';
import { type RealMcpServer, realMcpServer } from '../support/mcp-servers.js';
import { createKeys } from '../support/keys.js';
import { testRedisUrl } from '../support/redis.js';
import { until } from '../support/until.js';

jest.setTimeout(120_000);

const SECRET = 'k3y-of-the-weather-service';
const parameters = {
  type: 'object',
  properties: { city: { type: 'string' }, units: { type: 'string' }, note: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

/** One request as the server saw it. */
interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

let database: TestDatabase;
let sql: pg.Client;
let installation: Installation;
let server: Server;
let mcp: RealMcpServer;
let folder: string;
let base: string;
let keys: Record<'operator' | 'ann' | 'stranger', string>;
const seen: Seen[] = [];
const answers = new Map<string, (request: Seen) => { readonly status: number; readonly body: string }>();

const gateway = (n = 0): string => installation.gateways[n]!.url;
const put = (id: string, body: object, headers: Record<string, string> = {}): ReturnType<typeof call> =>
  call(`${gateway()}/v1/tools/${id}`, { method: 'PUT', body, headers, key: keys.operator });
const get = (place: string, key = keys.ann, n = 0): ReturnType<typeof call> => call(`${gateway(n)}${place}`, { key });

/** The events of a task that calls one tool. */
async function eventsOf(id: string, name: string, args: object, key = keys.ann): Promise<Record<string, unknown>[]> {
  const script = [{ tool: { name, args, id: 'call_1' } }, { result: 'done' }];
  const submitted = await call(`${gateway()}/v1/tasks`, {
    key,
    body: { task_id: id, agent_id: 'caller', input: { script } },
  });
  expect(submitted.status).toBe(202);
  await get(`/v1/tasks/${id}/wait?timeout_seconds=60`, key);
  const { body } = await call(`${gateway()}/v1/tasks/${id}/events?limit=500`, {
    key,
    headers: { accept: 'application/json' },
  });
  return (body['events'] as Record<string, unknown>[]).filter(({ event_type }) =>
    String(event_type).startsWith('tool.'),
  );
}

const weather = (): object => ({
  kind: 'http',
  description: 'The weather of a city.',
  parameters,
  request: {
    method: 'POST',
    url: `${base}/v1/{city}/now?units={units}`,
    headers: { Authorization: { secret: 'TOOL_SECRET_WEATHER', prefix: 'Bearer ' } },
  },
  response: { pick: '/data' },
});

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
      seen.push(one);
      const answer = answers.get(url.split(/[/?]/)[1] ?? '')?.(one) ?? { status: 404, body: '' };
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  mcp = await realMcpServer({
    echo: {
      description: 'Says it again.',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      answer: ({ text }, headers) => ({
        content: [{ type: 'text', text: `${String(text)} ${String(headers['x-key'])}` }],
      }),
    },
  });
  database = await createDatabase();
  keys = await createKeys(database.url, {
    operator: { principal: 'olga' },
    ann: { principal: 'ann', scopes: ['tasks:submit', 'tasks:read', 'agents:read', 'tools:read'] },
    stranger: {
      tenant: 'other',
      principal: 'sam',
      scopes: ['tasks:submit', 'tasks:read', 'agents:read', 'tools:read'],
    },
  });
  sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
  await sql.query('set search_path to switchyard');
  folder = mkdtempSync(path.join(tmpdir(), 'tools-'));
  const clock = {
    id: 'clock',
    kind: 'http',
    description: 'Tells the time.',
    request: { url: `${base}/clock` },
    response: { format: 'text' },
  };
  const agent = {
    id: 'caller',
    description: 'Calls what it is told to.',
    input_modes: ['data'],
    tools: ['clock', 'weather', 'summarise', 'real__echo'],
    routes: [{ backends: [{ runner: 'scripted' }] }],
  };
  const file = path.join(folder, 'agents.yaml');
  writeFileSync(file, JSON.stringify({ agents: [agent], tools: [clock] }));
  const env = { AGENTS_FILE: file, OUTBOUND_ALLOW: 'tool|mcp=127.0.0.1', TOOL_SECRET_WEATHER: SECRET };
  const redisUrl = testRedisUrl();
  installation = await Installation.start({ databaseUrl: database.url, redisUrl, gateways: 2, runtimes: 1, env });
});

afterAll(async () => {
  await installation?.stop();
  await sql?.end();
  await database?.drop();
  server?.close();
  await mcp?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('a tool behind a URL', () => {
  it('that the file declares is called by agents, and its text comes back without what terminals obey', async () => {
    answers.set('clock', () => ({ status: 200, body: 'It is \u001b[31mnoon\u001b[0m\u0000.\r\ndata: forged' }));
    const events = await eventsOf('clock-1', 'clock', {});
    expect(events.map(({ event_type }) => event_type)).toEqual(['tool.invoked', 'tool.completed']);
    expect(events[1]).toMatchObject({ payload: { output: 'It is noon.\ndata: forged' } });
  });

  it('declared over the API is called within seconds, with the secret of the process that calls', async () => {
    answers.set('v1', ({ headers }) => ({
      status: 200,
      body: JSON.stringify({ data: { sky: 'blue', echo: headers.authorization, [SECRET]: 1 }, more: 'x' }),
    }));
    const declared = await put('weather', weather());
    expect(declared.status).toBe(201);
    expect(declared.headers.get('location')).toBe('/v1/tools/weather');
    await until(async () => (await get('/v1/tools/weather', keys.ann, 1)).status === 200, { timeoutMs: 6_000 });
    const call1 = async (id: string): Promise<Record<string, unknown> | undefined> =>
      (await eventsOf(id, 'weather', { city: 'a/../b?', units: 'c&d=1', note: 'n' })).at(-1);
    const done = await call1('weather-1');
    expect(done).toMatchObject({
      event_type: 'tool.completed',
      payload: { output: { sky: 'blue', echo: 'Bearer [secret]', '[secret]': 1 } },
    });
    const request = seen.at(-1)!;
    expect(request).toMatchObject({
      method: 'POST',
      url: '/v1/a%2F..%2Fb%3F/now?units=c%26d%3D1',
      body: '{"note":"n"}',
    });
    expect(request.headers).toMatchObject({
      authorization: `Bearer ${SECRET}`,
      'content-type': 'application/json',
      'idempotency-key': expect.stringMatching(/^[0-9a-f-]{36}\.call_1$/),
    });
  });

  it('that says no is told so, without the secret it gives back', async () => {
    answers.set('v1', ({ headers }) => ({ status: 403, body: `no: ${headers.authorization}` }));
    const [, failed] = await eventsOf('weather-2', 'weather', { city: 'x' });
    expect(failed).toMatchObject({
      event_type: 'tool.failed',
      payload: {
        error: { code: 'failed', message: 'The tool answered with status 403. It said: no: Bearer [secret]' },
      },
    });
  });

  it('leaves its secret nowhere in the database, and in no log', async () => {
    const { rows } = await sql.query<{ name: string }>(
      `select format('%I', c.relname) as name from pg_class c where c.relnamespace = 'switchyard'::regnamespace and c.relkind = 'r'`,
    );
    for (const { name } of rows) {
      const found = await sql.query(`select from ${name} as t where t::text like $1`, [`%${SECRET}%`]);
      expect([name, found.rowCount]).toEqual([name, 0]);
    }
    const logs = [...installation.gateways, ...installation.runtimes].map(({ log }) => log).join('');
    expect(logs).not.toContain(SECRET);
  });

  it('is shown to those who may use it, its declaration to operators only', async () => {
    const { body } = await get('/v1/tools/weather');
    expect(body).toEqual({
      tool_id: 'weather',
      kind: 'http',
      state: 'ready',
      description: 'The weather of a city.',
      parameters,
      idempotent: false,
      timeout_seconds: 30,
      version: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const { tools } = (await get('/v1/tools')).body as { tools: { tool_id: string }[] };
    expect(tools.map(({ tool_id }) => tool_id)).toEqual([
      'clock',
      'extract_key_phrases',
      'score_sentiment',
      'summarise',
      'weather',
    ]);
    const shown = (await get('/v1/tools/weather', keys.operator)).body;
    expect(shown).toMatchObject({ origin: 'api', declaration: { id: 'weather', ...weather() } });
    expect((await get('/v1/agents/caller/capabilities')).body).toMatchObject({
      input_modes: ['data'],
      tools: ['clock', 'weather', 'summarise'],
    });
  });

  it('of some tenants exists for no other', async () => {
    await put('weather', { ...weather(), tenants: ['default'] });
    await until(async () => (await get('/v1/tools/weather', keys.stranger)).status === 404);
    const [denied] = await eventsOf('weather-3', 'weather', { city: 'x' }, keys.stranger);
    expect(denied).toMatchObject({ event_type: 'tool.invoked' });
    const { body } = await get('/v1/agents/caller/capabilities', keys.stranger);
    expect(body).toMatchObject({ tools: ['clock', 'summarise'] });
  });

  it.each<[object, string]>([
    [{ url: 'http://169.254.169.254/latest' }, '/request/url'],
    [{ url: 'https://10.0.0.1/x' }, '/request/url'],
    [{ url: 'https://[::ffff:10.0.0.1]/x' }, '/request/url'],
    [{ url: 'https://0xa000001/x' }, '/request/url'],
  ])('is refused at %j: requests may not go there', async (request, at) => {
    const refused = await put('inner', { kind: 'http', description: 'd', request });
    expect(refused).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', errors: [{ path: at, code: 'refused' }] },
    });
  });

  it('is changed and removed only as it was seen, each time with a record', async () => {
    const etag = (await get('/v1/tools/weather', keys.operator)).headers.get('etag')!;
    expect(etag).toMatch(/^"\d+"$/);
    const changed = await put('weather', { ...weather(), idempotent: true }, { 'if-match': etag });
    expect(changed).toMatchObject({ status: 200, body: { idempotent: true } });
    expect((await put('weather', weather(), { 'if-match': etag })).status).toBe(412);
    expect((await put('weather', weather(), { 'if-none-match': '*' })).status).toBe(412);
    const remove = (tag: string): ReturnType<typeof call> =>
      call(`${gateway()}/v1/tools/weather`, { method: 'DELETE', key: keys.operator, headers: { 'if-match': tag } });
    expect((await remove(etag)).status).toBe(412);
    expect((await remove(changed.headers.get('etag')!)).status).toBe(204);
    expect((await get('/v1/tools/weather', keys.operator)).status).toBe(404);
    const { rows } = await sql.query<{ action: string }>(
      `select action from audit_records where target = 'weather' and action like 'tool.%' and outcome = 'allowed' order by at`,
    );
    expect(rows.map(({ action }) => action)).toEqual(['tool.put', 'tool.put', 'tool.put', 'tool.remove']);
  });
});

describe('a tool of an MCP server', () => {
  const accept = (digest: string): ReturnType<typeof call> =>
    call(`${gateway(1)}/v1/tools/real__echo/accept`, { body: { digest }, key: keys.operator });

  it('is seen by operators only, and called once one has accepted it as it is', async () => {
    const headers = { 'x-key': { secret: 'TOOL_SECRET_WEATHER' } };
    expect((await put('real', { kind: 'mcp', url: mcp.url, headers })).status).toBe(201);
    await until(async () => (await get('/v1/tools/real__echo', keys.operator, 1)).status === 200, {
      timeoutMs: 15_000,
    });
    const held = (await get('/v1/tools/real__echo', keys.operator)).body as {
      state: string;
      offer: { digest: string };
    };
    expect(held).toMatchObject({
      state: 'held',
      offer: { server: 'real', remote_name: 'echo', description: 'Says it again.' },
    });
    expect((await get('/v1/tools/real__echo')).status).toBe(404);
    expect((await eventsOf('echo-1', 'real__echo', { text: 'hi' })).map(({ event_type }) => event_type)).toContain(
      'tool.denied',
    );
    expect(await accept('0'.repeat(64))).toMatchObject({ status: 412, body: { code: 'precondition_failed' } });
    expect(await accept(held.offer.digest)).toMatchObject({ status: 200, body: { state: 'ready' } });
    await until(async () => (await get('/v1/tools/real__echo')).status === 200);
    await until(async () => {
      const events = await eventsOf(`echo-${Date.now()}`, 'real__echo', { text: 'hi' });
      return JSON.stringify(events.at(-1)).includes('hi [secret]');
    });
  });
});
