import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { SCOPES } from '#lib/domain';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { until } from '../support/until.js';

jest.setTimeout(90_000);

type Answer = Awaited<ReturnType<typeof call>>;
type Keys = Record<'ann' | 'tools' | 'reader' | 'stranger' | 'platform', string>;
interface Event {
  readonly seq: number;
  readonly event_type: string;
  readonly payload: Record<string, unknown>;
}

const ISSUER = 'https://switchyard.example';
const TEXT = 'The tram was late. The driver was friendly, and everybody on board was glad to be on the way home.';
const UNAUTHENTICATED = { status: 401, body: { code: 'unauthenticated' } };

let folder: string;
let database: TestDatabase;
let installation: Installation;
let keys: Keys;
let count = 0;
/** Every token a run has had: none may be found anywhere afterwards. */
const given: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'switchyard-tokens-'));
  database = await createDatabase();
  keys = await createKeys(database.url, {
    ann: { principal: 'ann' },
    tools: { principal: 'tool-server', scopes: ['tools:read'] },
    reader: { principal: 'reader', scopes: ['tasks:read'] },
    stranger: { tenant: 'other', scopes: SCOPES.filter((scope) => scope !== 'platform:admin') },
    platform: { tenant: 'other' },
  });
  const env = {
    LEASE_SECONDS: '10',
    TOKEN_ISSUER: ISSUER,
    LOG_LEVEL: 'debug',
    AGENTS_FILE: path.join(import.meta.dirname, 'task-tokens.agents.yaml'),
  };
  installation = await Installation.start({ databaseUrl: database.url, gateways: 2, runtimes: 1, env });
});

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

const at = (index: number, route: string): string => `${installation.gateways[index]!.url}${route}`;
const invoke = (token: string, name: string, body: object, index = 0): Promise<Answer> =>
  call(at(index, `/v1/runtime/tools/${name}:invoke`), { key: token, body });
const introspect = (token: string, key = keys.tools, index = 1): Promise<Answer> =>
  call(at(index, '/v1/runtime/token:introspect'), { key, body: { token } });
const snapshot = async (id: string): Promise<Record<string, unknown>> =>
  (await call(at(0, `/v1/tasks/${id}`), { key: keys.ann })).body;
const file = (name: string): string => path.join(folder, name);
const release = (id: string): void => writeFileSync(file(`${id}.go`), '');

async function eventsOf(id: string): Promise<readonly Event[]> {
  const { body } = await call(at(1, `/v1/tasks/${id}/events?limit=500`), {
    key: keys.ann,
    headers: { accept: 'application/json' },
  });
  return body['events'] as Event[];
}

const toolEvents = async (id: string): Promise<unknown[]> =>
  (await eventsOf(id))
    .filter(({ event_type }) => event_type.startsWith('tool.'))
    .map(({ event_type, payload }) => [event_type, payload['tool_call_id']]);

async function submit(script: readonly unknown[], body: object = {}): Promise<string> {
  const id = `task-${count}`;
  const answer = await call(at(0, '/v1/tasks'), {
    key: keys.ann,
    body: { task_id: id, input: { script, text: TEXT }, ...body },
  });
  expect(answer.status).toBe(202);
  return id;
}

async function tokenFrom(name: string): Promise<string> {
  await until(() => existsSync(file(name)), { timeoutMs: 20_000, what: 'a token' });
  const token = readFileSync(file(name), 'utf8');
  given.push(token);
  return token;
}

/** A task whose first run has handed out its token and waits to be let go on. */
async function holding(...more: readonly unknown[]): Promise<{ id: string; token: string }> {
  const id = `task-${(count += 1)}`;
  const rest = more.length > 0 ? more : [{ result: 'done' }];
  await submit([{ token_to: file(`${id}.token`) }, { until_file: file(`${id}.go`) }, ...rest]);
  return { id, token: await tokenFrom(`${id}.token`) };
}

async function ended(id: string, state = 'succeeded'): Promise<void> {
  await until(async () => (await snapshot(id))['state'] === state, { timeoutMs: 20_000, what: `${id} to be ${state}` });
}

describe('a task token', () => {
  it('is signed by a published key, and says who acts for whom, where and with which tools', async () => {
    const { id, token } = await holding();
    const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(at(1, '/.well-known/jwks.json'))), {
      ...{ issuer: ISSUER, audience: `${ISSUER}/v1/runtime`, typ: 'task+jwt' },
    });
    expect(payload).toMatchObject({ sub: 'ann', tenant: 'default', task_id: id, run_no: 1, agent_id: 'scripted' });
    expect(payload['tools']).toEqual(['summarise', 'score_sentiment', 'extract_key_phrases']);
    expect(payload.exp! - payload.iat!).toBe(300);
    const published = await fetch(at(0, '/.well-known/jwks.json'));
    expect(published.headers.get('cache-control')).toBe('public, max-age=300');
    release(id);
    await ended(id);
  });

  it('lists the tools of its run and calls them, on whichever gateway, into the log of its task', async () => {
    const { id, token } = await holding();
    const { body } = await call(at(1, '/v1/runtime/tools'), { key: token });
    const tools = body['tools'] as Record<string, unknown>[];
    expect(tools.map(({ name, policy }) => [name, policy])).toEqual([
      ['summarise', 'allow'],
      ['score_sentiment', 'confirm'],
    ]);
    const request = { tool_call_id: 'c1', arguments: { text: TEXT } };
    const first = await invoke(token, 'summarise', request, 0);
    expect(first).toMatchObject({
      status: 200,
      body: { tool_call_id: 'c1', tool_name: 'summarise', status: 'completed' },
    });
    expect(await invoke(token, 'summarise', request, 1)).toMatchObject({ status: 200, body: first.body });
    const other = { ...request, arguments: { text: 'Another text.' } };
    expect(await invoke(token, 'summarise', other, 1)).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict' },
    });
    expect(await toolEvents(id)).toEqual([
      ['tool.invoked', 'c1'],
      ['tool.completed', 'c1'],
    ]);
    release(id);
    await ended(id);
    const events = await eventsOf(id);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });

  it('makes a call of one id once, however often it is asked for at once', async () => {
    const { id, token } = await holding();
    const request = { tool_call_id: 'c1', arguments: { text: TEXT } };
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => invoke(token, 'summarise', request, n % 2)));
    const known = answers.filter(({ status }) => status === 200);
    expect(known.length).toBeGreaterThan(0);
    expect(new Set(known.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(answers.filter(({ status }) => status !== 200).map(({ body }) => body['code'])).toEqual(
      Array.from({ length: 20 - known.length }, () => 'call_in_progress'),
    );
    expect(await toolEvents(id)).toEqual([
      ['tool.invoked', 'c1'],
      ['tool.completed', 'c1'],
    ]);
    release(id);
    await ended(id);
  });

  it('opens no tool that is denied, unknown or not to its arguments, and says so in the log', async () => {
    const { id, token } = await holding();
    const ask = async (name: string, args: unknown): Promise<unknown[]> => {
      const { status, body } = await invoke(token, name, { tool_call_id: `c-${name}`, arguments: args });
      return [status, body['code']];
    };
    expect(await ask('extract_key_phrases', { text: TEXT })).toEqual([403, 'tool_denied']);
    expect(await ask('rm', {})).toEqual([403, 'tool_denied']);
    for (const name of ['%00', 'summarise%00', '..%2Fsummarise', 'x'.repeat(65), '%F0%9F%92%A9'])
      expect((await invoke(token, name, { tool_call_id: 'c-none', arguments: {} })).body).toMatchObject({
        status: 403,
      });
    expect(await ask('summarise', { text: 7 })).toEqual([400, 'invalid_request']);
    expect(await ask('score_sentiment', { text: TEXT })).toEqual([403, 'approval_required']);
    expect(await toolEvents(id)).toEqual([
      ['tool.denied', 'c-extract_key_phrases'],
      ['tool.denied', 'c-rm'],
      ['tool.denied', 'c-score_sentiment'],
    ]);
    release(id);
    await ended(id);
  });

  it('makes the one call that somebody approved, and no other', async () => {
    const args = { text: TEXT };
    const { id, token } = await holding(
      { pause: [{ tool_call_id: 'c1', kind: 'tool_confirmation', tool_name: 'score_sentiment', arguments: args }] },
      { token_to: file(`second-${count + 1}.token`) },
      { until_file: file(`second-${count + 1}.go`) },
      { result: 'done' },
    );
    release(id);
    await ended(id, 'waiting_for_input');
    expect(await invoke(token, 'score_sentiment', { tool_call_id: 'c1', arguments: args })).toMatchObject(
      UNAUTHENTICATED,
    );
    const decisions = [{ tool_call_id: 'c1', approved: true }];
    expect((await call(at(1, `/v1/tasks/${id}/resume`), { key: keys.ann, body: { decisions } })).status).toBe(202);
    const second = await tokenFrom(`second-${count}.token`);
    const changed = { tool_call_id: 'c1', arguments: { text: 'Awful.' } };
    expect(await invoke(second, 'score_sentiment', changed)).toMatchObject({
      status: 403,
      body: { code: 'approval_required' },
    });
    const made = await invoke(second, 'score_sentiment', { tool_call_id: 'c1', arguments: args });
    expect(made).toMatchObject({ status: 200, body: { status: 'completed' } });
    const again = { tool_call_id: 'c2', arguments: args };
    expect(await invoke(second, 'score_sentiment', again)).toMatchObject({
      status: 403,
      body: { code: 'approval_required' },
    });
    // The token of the run before the pause is no token of the run after it.
    expect(await call(at(0, '/v1/runtime/tools'), { key: token })).toMatchObject(UNAUTHENTICATED);
    release(`second-${count}`);
    await ended(id);
  });

  it('is refused once its run is over, or was asked to stop', async () => {
    const over = await holding();
    release(over.id);
    await ended(over.id);
    for (const route of ['/v1/runtime/token:renew', '/v1/runtime/tools/summarise:invoke'])
      expect(await call(at(0, route), { key: over.token, body: {} })).toMatchObject(UNAUTHENTICATED);
    expect((await introspect(over.token)).body).toEqual({ active: false });
    const stopped = await holding({ wait_ms: 60_000 });
    await call(at(0, `/v1/tasks/${stopped.id}/cancel`), { key: keys.ann, body: {} });
    const late = await invoke(stopped.token, 'summarise', { tool_call_id: 'c1', arguments: { text: TEXT } });
    expect([401, 409]).toContain(late.status);
    await ended(stopped.id, 'cancelled');
    expect(await toolEvents(stopped.id)).toEqual([]);
  });

  it('for a tool server opens nothing here, and the tool server learns what it is worth', async () => {
    const id = `task-${(count += 1)}`;
    const tools = 'https://tools.example';
    await submit([
      { token_to: file(`${id}.token`), audience: tools },
      { until_file: file(`${id}.go`) },
      { result: 'done' },
    ]);
    const token = await tokenFrom(`${id}.token`);
    expect(await call(at(0, '/v1/runtime/tools'), { key: token })).toMatchObject(UNAUTHENTICATED);
    expect(await call(at(0, '/v1/runtime/token:renew'), { key: token, body: {} })).toMatchObject(UNAUTHENTICATED);
    expect((await introspect(token)).body).toMatchObject({
      active: true,
      aud: tools,
      task_id: id,
      sub: 'ann',
      scope: '',
    });
    const form = await fetch(at(0, '/v1/runtime/token:introspect'), {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.tools}` },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
    });
    expect(form.headers.get('cache-control')).toBe('no-store');
    const claims = decodeJwt(token);
    expect(await form.json()).toMatchObject({ active: true, jti: claims.jti, exp: claims.exp, act: claims['act'] });
    release(id);
    await ended(id);
    expect((await introspect(token)).body).toEqual({ active: false });
  });

  it('is told about only to those who may know', async () => {
    const { id, token } = await holding();
    const other = await holding();
    expect(await introspect(token, keys.reader)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect(await introspect(token, keys.stranger)).toMatchObject({ status: 200, body: { active: false } });
    expect((await introspect(token, keys.platform)).body).toMatchObject({ active: true, tenant: 'default' });
    expect((await introspect(token, token)).body).toMatchObject({ active: true, task_id: id });
    expect((await introspect(token, other.token)).body).toEqual({ active: false });
    expect((await introspect('nonsense')).body).toEqual({ active: false });
    expect(await call(at(0, '/v1/runtime/token:introspect'), { key: keys.tools, body: {} })).toMatchObject({
      status: 400,
    });
    for (const each of [id, other.id]) release(each);
    await ended(id);
    await ended(other.id);
  });

  it('is renewed for as long as its run lives, with no more rights than before', async () => {
    const { id, token } = await holding();
    const { status, body } = await call(at(1, '/v1/runtime/token:renew'), { key: token, body: {} });
    expect({ status, body }).toMatchObject({ status: 200, body: { token_type: 'Bearer' } });
    const renewed = String(body['access_token']);
    given.push(renewed);
    const [before, after] = [decodeJwt(token), decodeJwt(renewed)];
    expect({ ...after, ...{ jti: '', iat: 0, nbf: 0, exp: 0 } }).toEqual({
      ...before,
      ...{ jti: '', iat: 0, nbf: 0, exp: 0 },
    });
    expect(after.jti).not.toBe(before.jti);
    expect((await call(at(0, '/v1/runtime/tools'), { key: renewed })).status).toBe(200);
    release(id);
    await ended(id);
    expect(await call(at(0, '/v1/runtime/token:renew'), { key: renewed, body: {} })).toMatchObject(UNAUTHENTICATED);
  });

  it('is no caller’s credential, and a caller’s key is none of a run', async () => {
    const { id, token } = await holding();
    for (const route of ['/v1/tasks', `/v1/tasks/${id}`, `/v1/tasks/${id}/events`, '/v1/agents', '/metrics'])
      expect(await call(at(0, route), { key: token })).toMatchObject(UNAUTHENTICATED);
    expect(await call(at(0, '/v1/tasks'), { key: token, body: { input: 'x' } })).toMatchObject(UNAUTHENTICATED);
    expect(await call(at(0, `/v1/tasks/${id}/cancel`), { key: token, body: {} })).toMatchObject(UNAUTHENTICATED);
    expect(await call(at(0, '/v1/runtime/tools'), { key: keys.ann })).toMatchObject(UNAUTHENTICATED);
    expect(await invoke(keys.ann, 'summarise', { tool_call_id: 'c', arguments: {} })).toMatchObject(UNAUTHENTICATED);
    const forged = `${token.slice(0, -4)}AAAA`;
    expect(await call(at(0, '/v1/runtime/tools'), { key: forged })).toMatchObject(UNAUTHENTICATED);
    release(id);
    await ended(id);
  });

  it('leaves a record of each time it was refused or renewed, and itself nowhere', async () => {
    await installation.stop();
    const sql = new pg.Client({ connectionString: database.url });
    await sql.connect();
    const { rows } = await sql.query<Record<string, string>>(
      `select distinct tenant, principal, action, outcome, details::json->>'code' as code from switchyard.audit_records
       where action ~ '^(token|tool)[.]' and coalesce(details::json->>'code', '') not in ('policy', 'not_on_list')`,
    );
    const records = rows.map(({ tenant, principal, action, outcome, code }) => [
      tenant,
      principal,
      action,
      outcome,
      code,
    ]);
    expect(records).toEqual(
      expect.arrayContaining([
        ['default', 'ann', 'token.renew', 'allowed', null],
        ['default', 'ann', 'token.renew', 'denied', 'run_over'],
        ['default', 'ann', 'token.renew', 'denied', 'other_audience'],
        ['default', 'ann', 'tool.invoke', 'denied', 'run_over'],
        ['default', 'ann', 'tool.list', 'denied', 'other_run'],
        ['default', 'ann', 'tool.list', 'denied', 'other_audience'],
        ['', '', 'tool.list', 'denied', 'invalid_token'],
        ['', '', 'tool.list', 'denied', 'no_task_token'],
        ['', '', 'tool.invoke', 'denied', 'no_task_token'],
      ]),
    );
    const tables = await sql.query<{ name: string }>(
      `select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'switchyard'::regnamespace and c.relkind in ('r', 'p')`,
    );
    const signatures = given.map((token) => token.split('.')[2]!);
    const found: string[] = [];
    for (const { name } of tables.rows) {
      const held = await sql.query(`select from ${name} t where t::text ~ $1 limit 1`, [signatures.join('|')]);
      if (held.rows.length > 0) found.push(name);
    }
    await sql.end();
    const logs = [...installation.gateways, ...installation.runtimes].map(({ log }) => log);
    found.push(...logs.filter((log) => signatures.some((signature) => log.includes(signature))));
    expect({ tokens: signatures.length > 10, found }).toEqual({ tokens: true, found: [] });
  });
});
