import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SCOPES } from '#lib/domain';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import { createKeys, type KeyWish } from '../support/keys.js';
import { until } from '../support/until.js';
import { type Ask, NOWHERE, type RouteRow, ROWS, type World } from './route-matrix.rows.js';

jest.setTimeout(60_000);

const VERBS = ['get', 'put', 'post', 'patch', 'delete'];
const TASK_SCRIPT = [{ artifact: { name: 'made.txt', text: 'made' } }, { result: 'done' }];

let database: TestDatabase;
let installation: Installation;
let origin: string;
let folder: string;
let world: World;
/** Scopes by route, as the gateway describes itself. */
let described: Map<string, readonly string[] | 'public'>;
let keys: Record<string, string>;

beforeAll(async () => {
  database = await createDatabase();
  folder = mkdtempSync(path.join(tmpdir(), 'switchyard-matrix-'));
  keys = await createKeys(database.url, wishes());
  // The matrix fails to authenticate some hundred times.
  const env = { MAX_AUTH_FAILURES: '100000', OUTBOUND_ALLOW: 'webhook=127.0.0.1:9' };
  installation = await Installation.start({ databaseUrl: database.url, gateways: 1, runtimes: 1, env });
  origin = installation.gateways[0]!.url;
  described = await describedRoutes();
  world = await createWorld();
});

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

const ownScopes = SCOPES.filter((scope) => scope !== 'tasks:all' && scope !== 'platform:admin');
const scopesOf = ({ needs }: RouteRow) => (typeof needs === 'string' ? [] : needs);

/** Whoever asks. Keys of a row are named by its route and what they lack. */
function wishes(): Record<string, KeyWish> {
  const wishes: Record<string, KeyWish> = {
    ann: { principal: 'ann', scopes: ownScopes },
    expired: { principal: 'ann', expiresAtMs: Date.now() - 1_000 },
    revoked: { principal: 'ann', revoked: true },
    colleague: { principal: 'bob', scopes: ownScopes },
    stranger: { tenant: 'other', principal: 'ann', scopes: SCOPES.filter((scope) => scope !== 'platform:admin') },
  };
  for (const row of ROWS) {
    const scopes = scopesOf(row);
    wishes[row.route] = { principal: 'ann', scopes };
    for (const scope of scopes)
      wishes[`${row.route} -${scope}`] = { principal: 'ann', scopes: SCOPES.filter((other) => other !== scope) };
  }
  return wishes;
}

async function describedRoutes(): Promise<Map<string, readonly string[] | 'public'>> {
  const document = (await call(`${origin}/openapi.json`)).body as {
    paths: Record<string, Record<string, { 'x-scopes'?: string[] }>>;
  };
  const routes = Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs)
      .filter(([verb]) => VERBS.includes(verb))
      .map(([verb, operation]) => [`${verb.toUpperCase()} ${path}`, operation['x-scopes'] ?? 'public'] as const),
  );
  return new Map(routes);
}

async function createWorld(): Promise<World> {
  const as = async (key: string, method: string, path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const answer = await call(`${origin}${path}`, { method, key, ...(body === undefined ? {} : { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const ann: World['ann'] = (method, path, body) => as(keys['ann']!, method, path, body);
  const work = async (more: object = {}): Promise<{ task: string; artifact: string; link: string }> => {
    const submitted = await as(keys['ann']!, 'POST', '/v1/tasks', {
      agent_id: 'scripted',
      input: { script: TASK_SCRIPT },
      ...more,
    });
    const task = String(submitted['task_id']);
    await as(keys['ann']!, 'GET', `/v1/tasks/${task}/wait?timeout_seconds=60`);
    const { artifacts } = (await as(keys['ann']!, 'GET', `/v1/tasks/${task}/artifacts`)) as {
      artifacts: { artifact_id: string; download_url: string }[];
    };
    const [made] = artifacts;
    return { task, artifact: made!.artifact_id, link: made!.download_url.slice(origin.length) };
  };
  const deliveryOf = async (path: string): Promise<string> => {
    const { deliveries } = (await ann('GET', `${path}/deliveries`)) as { deliveries: { delivery_id: string }[] };
    return deliveries[0]!.delivery_id;
  };
  const one = await work({ callback: { url: NOWHERE } });
  const webhook = String((await ann('POST', '/v1/webhooks', { url: NOWHERE }))['webhook_id']);
  const other = await work();
  const upload = String((await as(keys['ann']!, 'POST', '/v1/artifacts?name=ann.json', {}))['artifact_id']);
  const admin: World['admin'] = (method, path, body) => as(ADMIN_KEY, method, path, body);
  return {
    ...one,
    token: await holdRun(admin),
    otherTask: other.task,
    otherArtifact: other.artifact,
    upload,
    webhook,
    delivery: await deliveryOf(`/v1/webhooks/${webhook}`),
    callback: await deliveryOf(`/v1/tasks/${one.task}`),
    ann,
    admin,
  };
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function send(route: string, ask: Ask, headers: Record<string, string>): Promise<Answer> {
  const [method, template] = route.split(' ') as [string, string];
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ask.params?.[name] ?? 'none'));
  const response = await fetch(`${origin}${path}${ask.query ?? ''}`, {
    method,
    headers: { accept: 'application/json, text/plain', 'content-type': 'application/json', ...headers, ...ask.headers },
    ...(ask.body === undefined ? {} : { body: JSON.stringify(ask.body) }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const by = (name: string): Record<string, string> => ({ authorization: `Bearer ${keys[name]!}` });

/** A run that goes on until the gateway's end, with a tool, and what stands for it. */
async function holdRun(admin: World['admin']): Promise<string> {
  const routes = [{ backends: [{ runner: 'scripted' }] }];
  await admin('PUT', '/v1/agents/holder', {
    description: 'Holds on.',
    input_modes: ['data'],
    tools: ['summarise'],
    routes,
  });
  const file = path.join(folder, 'token');
  const script = [{ token_to: file }, { wait_ms: 600_000 }];
  const body = { agent_id: 'holder', input: { script } };
  const { status } = await call(`${origin}/v1/tasks`, { key: keys['ann']!, body });
  expect(status).toBe(202);
  await until(() => existsSync(file), { timeoutMs: 20_000, what: 'a token' });
  return readFileSync(file, 'utf8');
}

/** In the form of a task token, though not signed by us. */
function foreignToken(): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { sub: 'ann', tenant: 'default', scope: SCOPES.join(' '), exp: Math.floor(Date.now() / 1000) + 60 };
  const text = `${encode({ alg: 'EdDSA', typ: 'task+jwt', kid: 'k1' })}.${encode(claims)}`;
  return `${text}.${sign(null, Buffer.from(text), generateKeyPairSync('ed25519').privateKey).toString('base64url')}`;
}

/** Credentials that stand for nobody, by what is wrong with them. */
function nobodies({ needs }: RouteRow): Record<string, Record<string, string>> {
  const token = needs === 'task token' ? foreignToken() : world.token;
  const [id] = /^swy_[^_]+/.exec(keys['ann']!)!;
  const other = randomBytes(32).toString('base64url');
  return {
    'no credential': {},
    'a malformed one': { authorization: 'Bearer swy_nonsense' },
    'another scheme': { authorization: `Basic ${Buffer.from(`ann:${keys['ann']!}`).toString('base64')}` },
    'another secret': { authorization: `Bearer ${id}_${other}` },
    'an expired key': by('expired'),
    'a revoked key': by('revoked'),
    'two that differ': { ...by('ann'), 'x-api-key': keys['colleague']! },
    'a token of a run': { authorization: `Bearer ${token}` },
    'a token of a run as a key': { 'x-api-key': token },
  };
}

/** On wires that know no codes the status says as much. */
const CODES: Readonly<Record<number, string>> = { 401: 'unauthenticated', 403: 'forbidden', 404: 'not_found' };

/** Our own code, wherever the wire of the route keeps it. */
function codeOf({ status, text }: Answer): unknown {
  type Info = { readonly metadata?: { readonly code?: string } };
  type Body = { code?: unknown; data?: { code?: string }; error?: { data?: Info[]; details?: Info[] } };
  const { code, data, error } = JSON.parse(text) as Body;
  return (error?.details ?? error?.data)?.[0]?.metadata?.code ?? data?.code ?? code ?? CODES[status];
}

/** What the answer tells of the thing: the same as of one that never was, or it says that this one is. */
function sayingsOf({ text }: Answer): unknown {
  const { instance: _, task_id: __, ...sayings } = JSON.parse(text) as Record<string, unknown>;
  return sayings;
}

/** The request with ids that nothing has; its agent is no secret. */
function unknown(ask: Ask): Ask {
  const params = Object.entries(ask.params ?? {}).map(([name, id]) => [
    name,
    name === 'agent' ? id : `${id.slice(0, -4)}0000`,
  ]);
  return { ...ask, params: Object.fromEntries(params) as Record<string, string> };
}

async function refusesNobodies(row: RouteRow, ask: Ask): Promise<void> {
  const { route } = row;
  const cases = Object.entries(nobodies(row));
  const answers = await Promise.all(cases.map(([, headers]) => send(route, ask, headers)));
  const seen = answers.map((answer, n) => [cases[n]![0], answer.status, codeOf(answer)]);
  expect(seen).toEqual(cases.map(([name]) => [name, 401, 'unauthenticated']));
  expect(answers.map(({ headers }) => headers.get('www-authenticate'))).toEqual(cases.map(() => 'Bearer'));
}

async function refusesLacking(row: RouteRow, ask: Ask): Promise<void> {
  for (const scope of scopesOf(row)) {
    const answer = await send(row.route, ask, by(`${row.route} -${scope}`));
    expect({ without: scope, status: answer.status, text: answer.text }).toMatchObject({ without: scope, status: 403 });
    expect(answer.text).toContain(scope);
  }
}

/** Others, with every scope but the one that widens them, learn as little of the thing as of one that is not there. */
async function hidesThings(row: RouteRow, ask: Ask): Promise<void> {
  const others = { principal: ['stranger', 'colleague'], tenant: ['stranger'] }[row.names!];
  for (const other of others) {
    const answer = await send(row.route, ask, by(other));
    expect({ other, status: answer.status, code: codeOf(answer) }).toEqual({ other, status: 404, code: 'not_found' });
    expect(sayingsOf(answer)).toEqual(sayingsOf(await send(row.route, unknown(ask), by(other))));
  }
}

async function listsOwnOnly(row: RouteRow, ask: Ask): Promise<void> {
  const others = { principal: ['stranger', 'colleague'], tenant: ['stranger'] }[row.lists!];
  const ids = [world.task, world.otherTask, world.artifact, world.upload, world.webhook, keys['ann']!.split('_')[1]!];
  for (const other of others) {
    const { status, text } = await send(row.route, ask, by(other));
    expect({ other, status, leaked: ids.filter((id) => text.includes(id)) }).toEqual({
      other,
      status: 200,
      leaked: [],
    });
  }
}

/** The ids in it belong together, or they are nothing. */
async function keepsTasksApart(row: RouteRow): Promise<void> {
  const { status } = await asOwner(row, row.otherTask!(world));
  expect({ otherTask: status }).toEqual({ otherTask: row.needs === 'public' ? 403 : 404 });
}

function asOwner({ route, needs }: RouteRow, ask: Ask): Promise<Answer> {
  if (needs === 'task token') return send(route, ask, { authorization: `Bearer ${world.token}` });
  return send(route, ask, needs === 'public' ? {} : by(route));
}

function refusalsOf(row: RouteRow): readonly ((row: RouteRow, ask: Ask) => Promise<void>)[] {
  return [
    ...(row.needs === 'public' ? [] : [refusesNobodies]),
    refusesLacking,
    ...(row.names ? [hidesThings] : []),
    ...(row.lists ? [listsOwnOnly] : []),
    ...(row.otherTask ? [keepsTasksApart] : []),
  ];
}

describe('every route of /openapi.json', () => {
  it('has a row in the matrix', () => {
    const rows = new Set(ROWS.map(({ route }) => route));
    const missing = [...described.keys()].filter((route) => !rows.has(route));
    const hint = 'add a row for each to ROWS in test/e2e/route-matrix.rows.ts';
    expect({ hint, missing }).toEqual({ hint, missing: [] });
  });

  it.each(ROWS.map((row) => [row.route, row] as const))('%s lets in who may, and nobody else', async (route, row) => {
    const declared = described.get(route);
    const hint = declared === undefined ? 'there is no such route: take its row out of the matrix' : '';
    const needs = scopesOf(row).length > 0 ? row.needs : 'public';
    expect({ route, declared, hint }).toEqual({ route, declared: needs, hint: '' });
    const ask = (await row.ask?.(world)) ?? {};
    for (const refusal of refusalsOf(row)) await refusal(row, ask);
    const answer = await asOwner(row, ask);
    const status = row.ok ?? 200;
    expect({ status: answer.status, text: answer.status === status ? '' : answer.text }).toEqual({ status, text: '' });
  });
});
