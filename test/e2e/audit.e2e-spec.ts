import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { isConsistent, isIncluded } from '#lib/audit';
import { mintAuditKey } from '../support/audit.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { until } from '../support/until.js';

jest.setTimeout(90_000);

const key = mintAuditKey();
let database: TestDatabase;
let installation: Installation;
let origin: string;
let folder: string;
let keys: Record<'metrics' | 'ann' | 'auditor' | 'reader' | 'stranger' | 'platform', string>;
let sink: Server;
const delivered: { no: number }[] = [];
let refusals = 1;

const at = (name: string): string => path.join(folder, name);
const bytes = (hex: string): Uint8Array => Buffer.from(hex, 'hex');

interface Listed {
  readonly id: string;
  readonly action: string;
  readonly target: string;
  readonly tenant: string;
  readonly principal: string;
  readonly details: Record<string, unknown>;
  readonly leaf: number | null;
}

interface Proof {
  readonly leaf: number;
  readonly leaf_hash: string;
  readonly proof: string[];
  readonly head: { readonly size: number; readonly root: string };
}

async function search(who: keyof typeof keys, query: string): Promise<Listed[]> {
  const { status, body } = await call(`${origin}/v1/audit?${query}`, { key: keys[who] });
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body['records'] as Listed[];
}

beforeAll(async () => {
  database = await createDatabase();
  folder = await mkdtemp(path.join(tmpdir(), 'audit-'));
  await writeFile(at('key.pem'), key.pem, { mode: 0o600 });
  await writeFile(at('pub.pem'), key.publicPem);
  keys = await createKeys(database.url, {
    ann: { principal: 'ann', scopes: ['tasks:submit', 'tasks:read', 'tasks:cancel'] },
    auditor: { principal: 'zoe', scopes: ['audit:read'] },
    reader: { principal: 'bob', scopes: ['tasks:read'] },
    stranger: { tenant: 'other', principal: 'eve', scopes: ['audit:read', 'tasks:submit'] },
    metrics: { principal: 'ops', scopes: ['metrics:read'] },
    platform: { principal: 'root', scopes: ['audit:read', 'platform:admin'] },
  });
  sink = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      refusals -= 1;
      if (refusals >= 0) return void response.writeHead(503).end();
      delivered.push(...(JSON.parse(text) as { heads: { no: number }[] }).heads);
      response.end();
    });
  });
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
  const { port } = sink.address() as AddressInfo;
  installation = await Installation.start({
    databaseUrl: database.url,
    gateways: 1,
    runtimes: 0,
    env: {
      AUDIT_KEY_FILE: at('key.pem'),
      AUDIT_HEADS_FILE: at('heads.jsonl'),
      AUDIT_HEADS_WEBHOOK: `http://127.0.0.1:${port}/heads`,
      OUTBOUND_ALLOW: `webhook=127.0.0.1:${port}`,
    },
  });
  origin = installation.gateways[0]!.url;
  for (const [who, id] of [
    ['ann', 'a-1'],
    ['ann', 'a-2'],
    ['stranger', 's-1'],
  ] as const) {
    const body = { task_id: id, agent_id: 'scripted', input: { script: [] } };
    const { status } = await call(`${origin}/v1/tasks`, { method: 'POST', key: keys[who], body });
    if (status !== 202) throw new Error(`${id}: ${status}`);
  }
});

afterAll(async () => {
  await installation?.stop();
  await new Promise((resolve) => sink.close(resolve));
  await database?.drop();
  await rm(folder, { recursive: true });
});

describe('the audit trail', () => {
  it('is searched within the tenant, newest first and by pages, and that is recorded', async () => {
    const records = await search('auditor', 'action=task.submit');
    expect(records.map(({ target, principal, tenant }) => [target, principal, tenant])).toEqual([
      ['a-2', 'ann', 'default'],
      ['a-1', 'ann', 'default'],
    ]);
    const first = await call(`${origin}/v1/audit?action=task.submit&limit=1`, { key: keys.auditor });
    const next = `cursor=${String(first.body['next_cursor'])}`;
    expect((await search('auditor', `action=task.submit&limit=1&${next}`)).map(({ target }) => target)).toEqual([
      'a-1',
    ]);
    expect((await search('auditor', 'target=a-1&outcome=allowed&principal=ann')).length).toBe(1);
    expect(await search('auditor', 'outcome=denied&action=task.submit')).toEqual([]);
    expect((await search('auditor', 'action=task.submit&after=0001-01-01T00:00:00Z')).length).toBe(2);
    expect((await search('auditor', 'action=task.submit&before=0001-01-01T00:00:00Z')).length).toBe(0);
    expect((await search('auditor', 'action=task.submit&after=2026-01-01T00:00:00.123456789%2B20:00')).length).toBe(2);
    const now = new Date().toISOString();
    expect(await search('auditor', `after=${now}&action=task.submit`)).toEqual([]);
    expect((await search('auditor', `before=${now}&action=task.submit`)).length).toBe(2);
    const [searched] = await search('auditor', 'action=audit.search&limit=1');
    expect(searched).toMatchObject({
      principal: 'zoe',
      target: 'default',
      details: { filter: { action: 'audit.search' } },
    });
  });

  it('shows other tenants to administrators of the platform only', async () => {
    const forbidden = await call(`${origin}/v1/audit?tenant=other`, { key: keys.auditor });
    expect([forbidden.status, forbidden.body['code']]).toEqual([403, 'forbidden']);
    expect((await search('platform', 'tenant=other&action=task.submit')).map(({ target }) => target)).toEqual(['s-1']);
    expect((await search('platform', 'tenant=*&action=task.submit')).length).toBe(3);
    const [own] = await search('auditor', 'target=a-1');
    const hidden = await call(`${origin}/v1/audit/${own!.id}/proof`, { key: keys.stranger });
    expect(hidden.status).toBe(404);
    expect((await call(`${origin}/v1/audit`, { key: keys.reader })).status).toBe(403);
    expect((await call(`${origin}/v1/audit/export?tenant=default`, { key: keys.stranger })).status).toBe(403);
    const response = await fetch(`${origin}/v1/audit/export`, { headers: { 'x-api-key': keys.stranger } });
    const lines = (await response.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { record?: Listed });
    const records = lines.flatMap(({ record }) => record ?? []);
    expect(records.length).toBeGreaterThan(0);
    expect(records.filter(({ tenant }) => tenant !== 'other')).toEqual([]);
    // A cursor of another's list is a place in one's own.
    const page = await call(`${origin}/v1/audit?limit=1`, { key: keys.auditor });
    const listed = await search('stranger', `cursor=${String(page.body['next_cursor'])}`);
    expect(listed.filter(({ tenant }) => tenant !== 'other')).toEqual([]);
  });

  it('refuses what it does not know by its path, and takes no cursor of others', async () => {
    const codes = await Promise.all(
      ['what=1', 'outcome=maybe', 'after=yesterday', 'limit=0', 'cursor=x', 'after=2026-02-30T00:00:00Z'].map(
        async (query) => (await call(`${origin}/v1/audit?${query}`, { key: keys.auditor })).status,
      ),
    );
    expect(codes).toEqual([400, 400, 400, 400, 400, 400]);
  });

  it('proves that a record is in a signed tree, and that the tree has only grown', async () => {
    await until(async () => (await search('auditor', 'target=a-1')).every(({ leaf }) => leaf !== null));
    const [record] = await search('auditor', 'target=a-1');
    const answer = await call(`${origin}/v1/audit/${record!.id}/proof`, { key: keys.auditor });
    const proof = answer.body as unknown as Proof;
    const tree = { size: proof.head.size, root: bytes(proof.head.root) };
    const leaf = { no: proof.leaf, hash: bytes(proof.leaf_hash) };
    expect(isIncluded(leaf, tree, proof.proof.map(bytes))).toBe(true);
    await until(
      async () =>
        ((await call(`${origin}/v1/audit/heads`, { key: keys.auditor })).body['heads'] as object[]).length > 1,
    );
    const { body } = await call(`${origin}/v1/audit/heads`, { key: keys.auditor });
    const heads = body['heads'] as { size: number; root: string; kid: string }[];
    const [first, last] = [heads[0]!, heads.at(-1)!];
    const grown = await call(`${origin}/v1/audit/consistency?first=${first.size}&second=${last.size}`, {
      key: keys.auditor,
    });
    const trees = [first, last].map(({ size, root }) => ({ size, root: bytes(root) })) as [never, never];
    expect(isConsistent(...trees, (grown.body['proof'] as string[]).map(bytes))).toBe(true);
    const published = await call(`${origin}/v1/audit/keys`, { key: keys.auditor });
    expect(published.body).toEqual({ keys: [{ kid: last.kid, public_key: key.publicPem }] });
    expect((await call(`${origin}/v1/audit/consistency?first=1&second=999999`, { key: keys.auditor })).status).toBe(
      404,
    );
  });

  it('is exported and verified offline by the command line, against the heads that went elsewhere', async () => {
    await until(() => delivered.length > 0);
    const response = await fetch(`${origin}/v1/audit/export?tenant=*`, { headers: { 'x-api-key': keys.platform } });
    expect(response.headers.get('content-type')).toContain('application/jsonl');
    await writeFile(at('export.jsonl'), await response.text());
    const cli = path.resolve('scripts/switchyard.mjs');
    const args = [cli, 'audit', 'verify', at('export.jsonl'), '--key', at('pub.pem')];
    const run = (extra: string[]): Promise<string> =>
      new Promise((resolve) =>
        execFile(process.execPath, [...args, ...extra], (_error, stdout, stderr) => resolve(stdout + stderr)),
      );
    expect(await run([])).toContain('✓ The audit trail is what was sealed.');
    expect(await search('auditor', 'action=audit.export&limit=1')).toMatchObject([{ principal: 'root', target: '*' }]);
    const kept = (await readFile(at('heads.jsonl'), 'utf8')).trimEnd().split('\n');
    expect(kept.length).toBeGreaterThan(1);
    // The export is older than what has been sealed since: the heads kept elsewhere say so.
    await until(async () => (await readFile(at('heads.jsonl'), 'utf8')).trimEnd().split('\n').length > kept.length);
    expect(await run(['--heads', at('heads.jsonl')])).toContain('the tail is cut');
  });

  it('brings each head to the webhook in order, though it was refused at first', async () => {
    await until(() => delivered.length > 2);
    const numbers = delivered.map(({ no }) => no);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  });

  it('is read in a spreadsheet without becoming a formula', async () => {
    const body = { task_id: 'a-3', agent_id: 'scripted', input: { script: [] } };
    const headers = { 'x-request-id': '=HYPERLINK(1)' };
    await call(`${origin}/v1/tasks`, { method: 'POST', key: keys.ann, body, headers });
    await until(async () => (await search('auditor', 'target=a-3')).some(({ leaf }) => leaf !== null));
    const response = await fetch(`${origin}/v1/audit/export?format=csv`, { headers: { 'x-api-key': keys.auditor } });
    const lines = (await response.text()).trimEnd().split('\r\n');
    expect(lines[0]).toBe('leaf,id,at,xid,tenant,principal,key_id,action,target,outcome,details,request_id,digest');
    expect(lines.filter((line) => /(^|,)"?[=+@]/.test(line))).toEqual([]);
    expect(lines.some((line) => line.includes('task.submit,a-3'))).toBe(true);
  });

  it('is looked after without a fault, and what is to be looked at is shown as metrics', async () => {
    const key = keys.metrics;
    let text = '';
    const read = async (): Promise<string> =>
      (text = await (await fetch(`${origin}/metrics`, { headers: { 'x-api-key': key } })).text());
    await until(async () => /switchyard_sweep_seconds_count{sweep="audit-pruning"} [1-9]/.test(await read()));
    const faults = [...text.matchAll(/^switchyard_audit_fault{fault="(\w+)"} (\d)$/gm)].map(([, name, is]) => [
      name,
      is,
    ]);
    expect(faults.sort()).toEqual(['not_exported', 'not_pruned', 'not_sealed', 'unsigned'].map((name) => [name, '0']));
    expect(text).toMatch(/^switchyard_audit_lag_seconds \d/m);
    expect(installation.gateways[0]!.printed).not.toContain('a sweep failed');
  });
});
