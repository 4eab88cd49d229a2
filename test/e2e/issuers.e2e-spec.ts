import { createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Provider } from 'oidc-provider';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { EventStream } from '../support/event-stream.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { until } from '../support/until.js';

jest.setTimeout(60_000);

const AUDIENCE = 'switchyard';
const CLIENT = { client_id: 'reports', client_secret: 'r'.repeat(40) };

/** A server on the loopback whose answers may change. */
class Site {
  listener: RequestListener = (_, response) => response.writeHead(404).end();
  readonly asked: string[] = [];
  private constructor(private readonly server: Server) {}

  static async open(): Promise<Site> {
    const server = createServer((request, response) => {
      site.asked.push(request.url ?? '');
      site.listener(request, response);
    });
    const site = new Site(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return site;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

interface Signer {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const signer = (kid: string): Signer => ({ kid, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) });
const jwk = ({ kid, publicKey }: Signer): object => ({
  ...publicKey.export({ format: 'jwk' }),
  kid,
  alg: 'ES256',
  use: 'sig',
});
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A real issuer, with one key. */
function providerAt(issuer: string, { kid, privateKey }: Signer): RequestListener {
  const resource = { audience: AUDIENCE, scope: 'tasks:submit tasks:read', accessTokenFormat: 'jwt' as const };
  const provider = new Provider(issuer, {
    clients: [{ ...CLIENT, grant_types: ['client_credentials'], redirect_uris: [], response_types: [] }],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' }] },
    scopes: ['tasks:submit', 'tasks:read'],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    extraTokenClaims: () => ({ org: { id: 'acme' } }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({ ...resource, accessTokenTTL: 60, jwt: { sign: { alg: 'ES256' as const } } }),
      },
    },
  });
  return provider.callback();
}

let database: TestDatabase;
let installation: Installation;
let folder: string;
let gateway: string;
let provider: Site;
let forge: Site;
let deadOrigin: string;
let key: string;
const genuine = signer('k1');

beforeAll(async () => {
  [provider, forge] = await Promise.all([Site.open(), Site.open()]);
  provider.listener = providerAt(provider.origin, signer('first'));
  forge.listener = (request, response) => {
    const documents: Record<string, object> = {
      '/.well-known/openid-configuration': { issuer: forge.origin, jwks_uri: `${forge.origin}/keys` },
      '/keys': { keys: [jwk(genuine)] },
    };
    const document = documents[request.url ?? ''];
    response
      .writeHead(document ? 200 : 404, { 'content-type': 'application/json' })
      .end(JSON.stringify(document ?? {}));
  };
  deadOrigin = `http://127.0.0.1:${await freePort()}`;
  folder = await mkdtemp(path.join(tmpdir(), 'issuers-'));
  const file = path.join(folder, 'issuers.yaml');
  const common = { audience: AUDIENCE, algorithms: ['ES256'], scopes: { claim: 'scope' } };
  const issuers = [
    {
      ...common,
      id: 'real',
      issuer: provider.origin,
      tenant: { claim: '/org/id', names: { acme: 'acme-tenant' } },
      principal: { prefix: 'real:' },
    },
    { ...common, id: 'forge', issuer: forge.origin, tenant: { claim: 'tenant', names: { default: 'default' } } },
    { ...common, id: 'dead', issuer: deadOrigin, tenant: { value: 'default' } },
  ];
  await writeFile(file, JSON.stringify({ issuers }));
  database = await createDatabase();
  ({ key } = await createKeys(database.url, { key: { principal: 'ann' } }));
  const env = { ISSUERS_FILE: file, OUTBOUND_ALLOW: 'issuer=127.0.0.0/8', MAX_AUTH_FAILURES: '100000' };
  installation = await Installation.start({ databaseUrl: database.url, gateways: 1, runtimes: 0, env });
  gateway = installation.gateways[0]!.url;
});

afterAll(async () => {
  await installation?.stop();
  await Promise.all([provider?.close(), forge?.close()]);
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

const ask = (token: string, method = 'GET', place = '/v1/tasks'): ReturnType<typeof call> =>
  call(`${gateway}${place}`, {
    key: token,
    method,
    ...(method === 'GET' ? {} : { body: { agent_id: 'scripted', input: 'x' } }),
  });

async function tokenOf(site: Site): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    scope: 'tasks:submit tasks:read',
    resource: 'urn:switchyard',
  });
  const basic = Buffer.from(`${CLIENT.client_id}:${CLIENT.client_secret}`).toString('base64');
  const answer = await fetch(`${site.origin}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body,
  });
  const { access_token } = (await answer.json()) as { access_token?: string };
  if (access_token === undefined) throw new Error(`no token: ${answer.status}`);
  return access_token;
}

describe('a token of a real issuer', () => {
  it('is the caller its claims say, with the scopes it gives and no others, and its signature is not looked at each time', async () => {
    const token = await tokenOf(provider);
    const submitted = await ask(token, 'POST');
    expect(submitted.status).toBe(202);
    const task = await ask(token, 'GET', `/v1/tasks/${String(submitted.body['task_id'])}`);
    expect(task.body).toMatchObject({ created_by: 'real:reports' });
    expect((await ask(token, 'GET', '/v1/keys')).status).toBe(403);
    const asked = provider.asked.length;
    const again = await Promise.all(Array.from({ length: 50 }, () => ask(token)));
    expect([new Set(again.map(({ status }) => status)), provider.asked.length - asked]).toEqual([new Set([200]), 0]);
    const foreign = await call(`${gateway}/v1/tasks/${String(submitted.body['task_id'])}`, { key: ADMIN_KEY });
    expect(foreign.status).toBe(404);
  });

  it('is believed with a key the issuer has changed to', async () => {
    provider.listener = providerAt(provider.origin, signer('second'));
    const token = await tokenOf(provider);
    await until(async () => (await ask(token)).status === 200, { timeoutMs: 20_000 });
    expect((await ask(token)).status).toBe(200);
  });

  it('may come in either header, and in both when they agree', async () => {
    const token = await tokenOf(provider);
    const send = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${gateway}/v1/tasks`, { headers })).status;
    const bearer = `Bearer ${token}`;
    expect(await send({ 'x-api-key': token })).toBe(200);
    expect(await send({ authorization: bearer, 'x-api-key': token })).toBe(200);
    expect(await send({ authorization: bearer, 'x-api-key': key })).toBe(401);
    expect(await send({ authorization: `Bearer ${key}`, 'x-api-key': token })).toBe(401);
  });
});

describe('a token of an issuer that cannot be reached', () => {
  it('is 503 and nothing else is: keys and the tokens of others go on', async () => {
    const answer = await ask(forged({ claims: { iss: deadOrigin } }));
    expect([answer.status, answer.body['code'], Number(answer.headers.get('retry-after')) > 0]).toEqual([
      503,
      'unavailable',
      true,
    ]);
    expect([(await ask(key)).status, (await ask(forged({}))).status]).toEqual([200, 200]);
  });
});

interface Forgery {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Signs the text; default: the genuine key of the issuer. */
  readonly by?: (text: string) => Buffer;
}

const es256 =
  ({ privateKey }: Signer) =>
  (text: string): Buffer =>
    sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
const hs256 =
  (secret: string | Buffer) =>
  (text: string): Buffer =>
    createHmac('sha256', secret).update(text).digest();
const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** A good token of the issuer whose key we have, but for what is said. */
function forged({ header = {}, claims = {}, by = es256(genuine) }: Forgery): string {
  const all = {
    iss: forge.origin,
    aud: AUDIENCE,
    sub: 'ann',
    tenant: 'default',
    scope: 'tasks:read',
    jti: randomUUID(),
  };
  const text = `${encode({ alg: 'ES256', typ: 'at+jwt', kid: 'k1', ...header })}.${encode({ ...all, iat: nowSeconds(), exp: nowSeconds() + 60, ...claims })}`;
  return `${text}.${by(text).toString('base64url')}`;
}

const attacker = signer('evil');
const pem = genuine.publicKey.export({ format: 'pem', type: 'spki' });
const der = genuine.publicKey.export({ format: 'der', type: 'spki' });
const nobody = (): Buffer => Buffer.alloc(0);
const evil = (): string => `${forge.origin}/evil`;

const FORGERIES: Readonly<Record<string, () => Forgery>> = {
  'without a signature': () => ({ header: { alg: 'none' }, by: nobody }),
  'without a signature, spelt otherwise': () => ({ header: { alg: 'nOnE' }, by: nobody }),
  'that drops its signature': () => ({ by: nobody }),
  'signed with the public key as a secret, as PEM': () => ({ header: { alg: 'HS256' }, by: hs256(pem) }),
  'signed with the public key as a secret, as DER': () => ({ header: { alg: 'HS256' }, by: hs256(der) }),
  'signed with the public key as a secret, as JWK': () => ({
    header: { alg: 'HS256' },
    by: hs256(JSON.stringify(jwk(genuine))),
  }),
  'of an algorithm that is not on the list': () => ({ header: { alg: 'ES384' } }),
  'whose kid is a path to an empty file': () => ({
    header: { alg: 'HS256', kid: '../../../../dev/null' },
    by: hs256(''),
  }),
  'whose kid is a path': () => ({ header: { kid: '../keys/k1' }, by: es256(attacker) }),
  'whose kid is an address': () => ({ header: { kid: evil() }, by: es256(attacker) }),
  'whose kid is a piece of SQL': () => ({ header: { kid: "k1' or '1'='1" }, by: es256(attacker) }),
  'whose kid is no text': () => ({ header: { kid: ['k1'] } }),
  'signed by somebody else under the kid of the issuer': () => ({ by: es256(attacker) }),
  'that brings its key along': () => ({ header: { kid: 'evil', jwk: jwk(attacker) }, by: es256(attacker) }),
  'that says where its keys are': () => ({ header: { kid: 'evil', jku: evil() }, by: es256(attacker) }),
  'that says where its certificate is': () => ({ header: { kid: 'evil', x5u: evil() }, by: es256(attacker) }),
  'that brings a certificate along': () => ({
    header: { kid: 'evil', x5c: [der.toString('base64')] },
    by: es256(attacker),
  }),
  'that says where keys are though it needs none': () => ({ header: { jku: evil() } }),
  'with a critical header': () => ({ header: { crit: ['exp'], exp: 1 } }),
  'with a critical header we never heard of': () => ({ header: { crit: ['urn:x'], 'urn:x': true } }),
  'whose payload is not encoded': () => ({ header: { b64: false, crit: ['b64'] } }),
  'of another typ': () => ({ header: { typ: 'JWT' } }),
  'without a typ': () => ({ header: { typ: undefined } }),
  'of an ID token': () => ({ header: { typ: 'id_token+jwt' } }),
  'for another audience': () => ({ claims: { aud: 'elsewhere' } }),
  'for several others': () => ({ claims: { aud: ['elsewhere', `${AUDIENCE}.example`] } }),
  'for nobody': () => ({ claims: { aud: undefined } }),
  'that begins far in the future': () => ({ claims: { nbf: nowSeconds() + 86_400 } }),
  'that is over': () => ({ claims: { exp: nowSeconds() - 1 } }),
  'that is never over': () => ({ claims: { exp: undefined } }),
  'whose end is no number': () => ({ claims: { exp: String(nowSeconds() + 60) } }),
  'of an issuer nobody named': () => ({ claims: { iss: 'https://accounts.example' } }),
  'of an issuer spelt otherwise': () => ({ claims: { iss: `${forge.origin}/` } }),
  'of no issuer': () => ({ claims: { iss: undefined } }),
  'of one issuer in the name of another': () => ({ claims: { iss: provider.origin, org: { id: 'acme' } } }),
  'for a tenant its issuer has no say in': () => ({ claims: { tenant: 'acme-tenant' } }),
  'for no tenant': () => ({ claims: { tenant: undefined } }),
  'for nobody in particular': () => ({ claims: { sub: '' } }),
};

describe('a token', () => {
  it('that is good is let in, so that those below are refused for what they say', async () => {
    expect((await ask(forged({}))).status).toBe(200);
    expect(
      (await ask(forged({ header: { typ: 'application/AT+JWT' }, claims: { aud: ['x', AUDIENCE] } }))).status,
    ).toBe(200);
  });

  it.each(Object.entries(FORGERIES))('%s is refused, and is not told why', async (_, forgery) => {
    const [one, none] = [await ask(forged(forgery())), await ask(`swy_${'x'.repeat(8)}_${'y'.repeat(40)}`)];
    const say = ({ status, body }: Awaited<ReturnType<typeof call>>): unknown => [status, body['code'], body['detail']];
    expect(say(one)).toEqual(say(none));
    expect([one.status, one.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(forge.asked.filter((place) => place.startsWith('/evil'))).toEqual([]);
  });

  it('that was altered is refused', async () => {
    const [header, , signature] = forged({}).split('.');
    const payload = encode({
      iss: forge.origin,
      aud: AUDIENCE,
      sub: 'root',
      tenant: 'default',
      scope: 'tasks:all',
      exp: nowSeconds() + 60,
    });
    expect((await ask(`${header}.${payload}.${signature}`)).status).toBe(401);
  });

  it('that was good is refused the moment it is over', async () => {
    const exp = nowSeconds() + 3;
    const token = forged({ claims: { exp } });
    expect((await ask(token)).status).toBe(200);
    await until(async () => (await ask(token)).status === 401);
    expect(Date.now()).toBeGreaterThanOrEqual(exp * 1000);
  });

  it('opens a stream and a long poll for no longer than it is good itself', async () => {
    const task = await ask(key, 'POST');
    const url = `${gateway}/v1/tasks/${String(task.body['task_id'])}`;
    const token = forged({ claims: { sub: 'ann', exp: nowSeconds() + 3 } });
    const [stream, other] = await Promise.all([token, key].map((by) => EventStream.open(`${url}/events`, { key: by })));
    const poll = call(`${url}/wait?timeout_seconds=4`, { key: token });
    expect(await stream!.text()).toMatch(/retry: 1000\n\n$/);
    expect((await poll).status).toBe(401);
    await call(`${url}/cancel`, { key, body: {} });
    expect(await other!.text()).toContain('event: task.cancelled');
  });

  it('is believed by the keys at hand while its issuer cannot be asked for the one that somebody makes up', async () => {
    const { listener } = forge;
    forge.listener = (_request, response) => void response.writeHead(500).end();
    try {
      const unknown = (): ReturnType<typeof call> => ask(forged({ header: { kid: 'made-up' } }));
      await until(async () => (await unknown()).status === 503, { timeoutMs: 10_000 });
      expect((await ask(forged({}))).status).toBe(200);
      expect((await unknown()).status).toBe(503);
    } finally {
      forge.listener = listener;
    }
  });

  it('gives no scope that its issuer may not give, whatever it says', async () => {
    const token = forged({ claims: { scope: 'agents:write platform:admin agents:read nonsense' } });
    expect((await ask(token, 'GET', '/v1/agents')).status).toBe(200);
    const { status, body } = await call(`${gateway}/v1/agents/x`, { method: 'PUT', key: token, body: {} });
    expect([status, body['detail']]).toEqual([403, 'The credentials lack the scope platform:admin.']);
  });
});
