import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from 'jose';
import { mintAuditKey } from '../support/audit.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import { until } from '../support/until.js';

jest.setTimeout(90_000);

const tokenKey = (id: string): string =>
  `${id}:${generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')}`;
const [oldAudit, newAudit] = [mintAuditKey(), mintAuditKey()];
const [oldToken, newToken] = [tokenKey('old'), tokenKey('new')];
const OLD = { TOKEN_KEYS: oldToken };
const ROTATED = { TOKEN_KEYS: `${newToken},${oldToken}` };

let folder: string;
let database: TestDatabase;
let installation: Installation;

const file = (name: string): string => path.join(folder, name);
const at = (route: string): string => `${installation.gateways[0]!.url}${route}`;
const read = async (route: string): Promise<Record<string, unknown>> => (await call(at(route))).body;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'rotation-'));
  writeFileSync(file('audit.pem'), oldAudit.pem);
  writeFileSync(file('old.pub'), oldAudit.publicPem);
  writeFileSync(file('new.pub'), newAudit.publicPem);
  database = await createDatabase();
  installation = await Installation.start({
    databaseUrl: database.url,
    gateways: 0,
    runtimes: 0,
    env: {
      AUDIT_KEY_FILE: file('audit.pem'),
      AUDIT_HEADS_FILE: file('heads.jsonl'),
      AGENTS_FILE: path.join(import.meta.dirname, 'task-tokens.agents.yaml'),
    },
  });
  await Promise.all([installation.addGateway(OLD), installation.addRuntime(OLD)]);
});

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

async function restartGateway(env: Record<string, string>): Promise<void> {
  const [old] = installation.gateways.splice(0, 1);
  await Promise.all([old!.end('SIGTERM'), installation.addGateway(env)]);
}

/** A task whose run has handed out its token and waits. */
async function holding(id: string): Promise<string> {
  const script = [{ token_to: file(`${id}.token`) }, { until_file: file(`${id}.go`) }, { result: 'done' }];
  const { status } = await call(at('/v1/tasks'), { body: { task_id: id, input: { script } } });
  expect(status).toBe(202);
  await until(() => existsSync(file(`${id}.token`)), { timeoutMs: 20_000, what: 'a token' });
  return readFileSync(file(`${id}.token`), 'utf8');
}

async function end(id: string): Promise<void> {
  writeFileSync(file(`${id}.go`), '');
  await until(async () => (await read(`/v1/tasks/${id}`))['state'] === 'succeeded', { timeoutMs: 20_000 });
}

const tools = async (token: string): Promise<number> => (await call(at('/v1/runtime/tools'), { key: token })).status;
const kidsOf = ({ keys }: { keys?: unknown }): unknown[] => (keys as { kid: string }[]).map(({ kid }) => kid);
const headKids = async (): Promise<unknown[]> =>
  ((await read('/v1/audit/heads?limit=500'))['heads'] as { kid: string }[]).map(({ kid }) => kid);

function verify(...keys: string[]): Promise<{ code: number; text: string }> {
  const cli = path.resolve('scripts/switchyard.mjs');
  const args = [cli, 'audit', 'verify', file('export.jsonl'), '--heads', file('heads.jsonl')];
  return new Promise((resolve) =>
    execFile(process.execPath, [...args, ...keys.flatMap((key) => ['--key', file(key)])], (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), text: stdout + stderr }),
    ),
  );
}

describe('keys that are changed while an installation runs', () => {
  it('of task tokens: those of the old key are good until their run ends, new ones are of the new key', async () => {
    const before = await holding('before');
    expect([decodeProtectedHeader(before).kid, await tools(before)]).toEqual(['old', 200]);
    // The runtime, which signs, is restarted last.
    writeFileSync(file('audit.pem'), newAudit.pem + oldAudit.publicPem);
    await restartGateway(ROTATED);
    const published = (await read('/.well-known/jwks.json')) as unknown as JSONWebKeySet;
    expect(kidsOf(published)).toEqual(['new', 'old']);
    expect(await tools(before)).toBe(200);
    const renewed = await call(at('/v1/runtime/token:renew'), { method: 'POST', key: before });
    expect([renewed.status, decodeProtectedHeader(String(renewed.body['access_token'])).kid]).toEqual([200, 'new']);
    await end('before');
    expect([await tools(before), await tools(String(renewed.body['access_token']))]).toEqual([401, 401]);
    await Promise.all([installation.runtimes.shift()!.end('SIGTERM'), installation.addRuntime(ROTATED)]);
    const after = await holding('after');
    expect([decodeProtectedHeader(after).kid, await tools(after)]).toEqual(['new', 200]);
    await expect(jwtVerify(after, createLocalJWKSet(published))).resolves.toBeDefined();
    await end('after');
  });

  it('of the audit trail: old heads are verified with the old key, new ones with the new, offline', async () => {
    const both = [oldAudit, newAudit].map(({ signer }) => signer.signing.kid);
    await until(async () => new Set(await headKids()).size === 2);
    const kids = await headKids();
    expect(kids.lastIndexOf(both[0])).toBeLessThan(kids.indexOf(both[1]));
    expect(kidsOf(await read('/v1/audit/keys'))).toEqual(both);
    const exported = async (): Promise<void> => {
      const response = await fetch(at('/v1/audit/export?tenant=*'), { headers: { 'x-api-key': ADMIN_KEY } });
      writeFileSync(file('export.jsonl'), await response.text());
    };
    // Reading adds to it: what is on file may be ahead of an export by a head.
    await until(async () => (await exported(), (await verify('old.pub', 'new.pub')).code === 0));
    expect(await verify('new.pub')).toMatchObject({
      code: 1,
      text: expect.stringContaining(`signed by the key ${both[0]}`),
    });
    expect(await verify('old.pub')).toMatchObject({
      code: 1,
      text: expect.stringContaining(`signed by the key ${both[1]}`),
    });
  });
});
