import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SCOPES } from '#lib/domain';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { EventStream } from '../support/event-stream.js';
import { call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { until } from '../support/until.js';

jest.setTimeout(60_000);

type Answer = Awaited<ReturnType<typeof call>>;

const own = SCOPES.filter((scope) => scope !== 'platform:admin' && scope !== 'tasks:all');
const REFUSED_MS = 5_000;

let database: TestDatabase;
let sql: pg.Client;
let installation: Installation;
let here: string;
let there: string;
let keys: Record<'admin' | 'boss' | 'ann' | 'limited' | 'stranger', string>;

beforeAll(async () => {
  database = await createDatabase();
  sql = new pg.Client({ connectionString: database.url, options: '-c search_path=switchyard' });
  await sql.connect();
  keys = await createKeys(database.url, {
    admin: { principal: 'root' },
    boss: { principal: 'boss', scopes: SCOPES.filter((scope) => scope !== 'platform:admin') },
    ann: { principal: 'ann', scopes: own },
    limited: { principal: 'lim', scopes: ['keys:write', 'keys:read', 'tasks:read'] },
    stranger: { tenant: 'other', principal: 'sam', scopes: own },
  });
  const env = { MAX_AUTH_FAILURES: '20' };
  installation = await Installation.start({ databaseUrl: database.url, gateways: 2, runtimes: 0, env });
  [here, there] = installation.gateways.map(({ url }) => url) as [string, string];
});

afterAll(async () => {
  await installation?.stop();
  await sql?.end();
  await database?.drop();
});

/** At the first gateway, unless the path is a whole URL. */
const ask = (method: string, path: string, key: string, body?: unknown): Promise<Answer> =>
  call(new URL(path, here).href, { method, key, ...(body === undefined ? {} : { body }) });
const create = (key: string, body: unknown): Promise<Answer> => ask('POST', '/v1/keys', key, body);
const works = async (key: string, url: string): Promise<boolean> =>
  (await ask('GET', `${url}/v1/tasks?limit=1`, key)).status === 200;
const textOf = ({ body }: Answer): string => String(body['key']);
const idOf = ({ body }: Answer): string => String(body['id']);

async function made(more: object = {}, by = keys.ann): Promise<{ id: string; key: string }> {
  const answer = await create(by, { scopes: ['tasks:read'], ...more });
  expect(answer.status).toBe(201);
  return { id: idOf(answer), key: textOf(answer) };
}

async function recordsOf(target: string): Promise<string[]> {
  const text = `select action || ' by ' || principal as deed from audit_records where target = $1 and outcome = 'allowed' order by at`;
  return (await sql.query<{ deed: string }>(text, [target])).rows.map(({ deed }) => deed);
}

describe('a key', () => {
  it('made through one gateway works at once at the other, and is shown that one time only', async () => {
    const { id, key } = await made({ label: 'reports', expires_at: '2999-01-01T00:00:00Z' });
    expect(await works(key, there)).toBe(true);
    const one = await ask('GET', `${there}/v1/keys/${id}`, keys.ann);
    expect(one.body).toMatchObject({ id, principal: 'ann', tenant: 'default', label: 'reports', state: 'live' });
    const secret = key.split('_')[2]!;
    const list = await ask('GET', '/v1/keys?limit=200', keys.ann);
    const rows = await sql.query('select * from api_keys where id = $1', [id]);
    const audit = await sql.query('select * from audit_records where target = $1', [id]);
    expect(JSON.stringify([one.body, list.body, rows.rows, audit.rows])).not.toContain(secret);
    expect(await recordsOf(id)).toEqual(['key.create by ann']);
  });

  it('that is rotated works with both secrets at both gateways, until the overlap is over', async () => {
    const { id, key: first } = await made();
    expect([await works(first, here), await works(first, there)]).toEqual([true, true]);
    const second = textOf(await ask('POST', `/v1/keys/${id}/rotate`, keys.ann, { overlap_seconds: 3 }));
    const both = [first, second].flatMap((key) => [works(key, here), works(key, there)]);
    expect(await Promise.all(both)).toEqual([true, true, true, true]);
    await until(async () => !(await works(first, there)));
    expect([await works(second, here), await works(second, there)]).toEqual([true, true]);
    expect((await ask('GET', `/v1/keys/${id}`, keys.ann)).body).toMatchObject({ retiring_until: [], state: 'live' });
    expect(await recordsOf(id)).toEqual(['key.create by ann', 'key.rotate by ann']);
  });

  it('that is rotated without an overlap leaves its earlier secrets worth nothing', async () => {
    const { id, key: first } = await made();
    const second = textOf(await ask('POST', `/v1/keys/${id}/rotate`, keys.ann));
    const third = textOf(await ask('POST', `/v1/keys/${id}/rotate`, keys.ann, { overlap_seconds: 0 }));
    await until(async () => !(await works(first, here)) && !(await works(second, here)), { timeoutMs: REFUSED_MS });
    expect(await works(third, there)).toBe(true);
  });

  it('that is revoked through one gateway is refused by the other within 5 s, and stays so', async () => {
    const { id, key } = await made();
    expect(await works(key, there)).toBe(true);
    const revoked = await ask('DELETE', `/v1/keys/${id}`, keys.ann);
    const revokedAtMs = performance.now();
    expect([revoked.status, revoked.body['state'], await works(key, here)]).toEqual([200, 'revoked', false]);
    await until(async () => !(await works(key, there)), { timeoutMs: REFUSED_MS });
    expect(performance.now() - revokedAtMs).toBeLessThan(REFUSED_MS);
    const again = await ask('DELETE', `${there}/v1/keys/${id}`, keys.ann);
    expect([again.status, again.body['revoked_at']]).toEqual([200, revoked.body['revoked_at']]);
    expect((await ask('POST', `/v1/keys/${id}/rotate`, keys.ann)).status).toBe(410);
    expect(await recordsOf(id)).toEqual(['key.create by ann', 'key.revoke by ann']);
  });

  it('that is revoked has the streams it opened ended, at whichever gateway, and nobody else’s; its long polls tell nothing', async () => {
    const { id, key } = await made({ scopes: ['tasks:submit', 'tasks:read'] });
    const task = await ask('POST', `${there}/v1/tasks`, key, { agent_id: 'scripted', input: 'x' });
    const url = `${there}/v1/tasks/${String(task.body['task_id'])}`;
    const places = [`${url}/wait?timeout_seconds=30`, `${url}/events?from_seq=1&wait_seconds=30`];
    const headers = { accept: 'application/json' };
    const polls = [key, keys.ann].map((by) => Promise.all(places.map((place) => call(place, { key: by, headers }))));
    const streams = [key, keys.ann].map((by) => EventStream.open(`${url}/events`, { key: by }));
    const [own, other] = await Promise.all(streams);
    const revokedAtMs = performance.now();
    expect((await ask('DELETE', `/v1/keys/${id}`, keys.ann)).status).toBe(200);
    expect(await own!.text()).toMatch(/retry: 1000\n\n$/);
    expect(performance.now() - revokedAtMs).toBeLessThan(REFUSED_MS);
    expect((await ask('POST', `${url}/cancel`, keys.ann, {})).status).toBe(202);
    expect(await other!.text()).toContain('event: task.cancelled');
    const statuses = (await Promise.all(polls)).map((answers) => answers.map(({ status }) => status));
    expect(statuses).toEqual([
      [401, 401],
      [200, 200],
    ]);
  });

  it('that is revoked while it waits for a step of Agent Protocol is handed none, and who asks next has it', async () => {
    const { id, key } = await made({ scopes: ['tasks:submit', 'tasks:read'] });
    const task = await ask('POST', `${there}/v1/tasks`, key, { agent_id: 'scripted', input: 'x' });
    const taskId = String(task.body['task_id']);
    const steps = `${there}/ap/v1/agent/tasks/${taskId}/steps`;
    const waiting = ask('POST', steps, key, {});
    const stream = await EventStream.open(`${there}/v1/tasks/${taskId}/events`, { key });
    expect((await ask('DELETE', `/v1/keys/${id}`, keys.ann)).status).toBe(200);
    expect(await stream.text()).toMatch(/retry: 1000\n\n$/);
    expect((await ask('POST', `/v1/tasks/${taskId}/cancel`, keys.ann, {})).status).toBe(202);
    expect((await waiting).status).toBe(401);
    const next = await ask('POST', steps, keys.ann, {});
    expect([next.status, next.body['is_last']]).toEqual([200, true]);
  });

  it('that has expired is refused, though it was good a moment before', async () => {
    const { id, key } = await made({ expires_at: new Date(Date.now() + 1_500).toISOString() });
    expect(await works(key, there)).toBe(true);
    await until(async () => !(await works(key, there)));
    expect((await ask('GET', `/v1/keys/${id}`, keys.ann)).body).toMatchObject({ state: 'expired' });
  });
});

describe('whoever makes a key', () => {
  const refusal = async (answer: Promise<Answer>): Promise<unknown> => {
    const { status, body } = await answer;
    return [status, body['code'], /the scope ([a-z:, ]+),/.exec(String(body['detail']))?.[1]];
  };

  it('gives no scope they do not have, and names those that are missing', async () => {
    const wish = { scopes: ['tasks:read', 'tasks:submit', 'audit:read'] };
    expect(await refusal(create(keys.limited, wish))).toEqual([403, 'forbidden', 'tasks:submit, audit:read']);
  });

  it('gives nobody else their tasks unless they reach those themselves', async () => {
    const wish = { principal: 'bob', scopes: ['tasks:read'] };
    expect(await refusal(create(keys.ann, wish))).toEqual([403, 'forbidden', 'tasks:all']);
    expect((await create(keys.boss, wish)).status).toBe(201);
    expect((await create(keys.ann, { principal: 'bob', scopes: ['agents:read'] })).status).toBe(201);
  });

  it('gives nobody the results of somebody else by way of webhooks and callbacks', async () => {
    for (const scope of ['webhooks:read', 'webhooks:write'])
      expect(await refusal(create(keys.ann, { principal: 'bob', scopes: [scope] }))).toEqual([
        ...[403, 'forbidden', 'tasks:all'],
      ]);
    const { id } = await made({ principal: 'bob', scopes: ['webhooks:write'] }, keys.boss);
    expect(await refusal(ask('POST', `/v1/keys/${id}/rotate`, keys.ann))).toEqual([403, 'forbidden', 'tasks:all']);
  });

  it('with one that expires gets none that lives longer, neither new nor by rotating another', async () => {
    const end = new Date(Date.now() + 60_000).toISOString();
    const passing = await made({ scopes: ['keys:write', 'tasks:read'], expires_at: end });
    const lasting = await made();
    const late = new Date(Date.now() + 90_000).toISOString();
    for (const wish of [{}, { expires_at: late }]) {
      const { status, body } = await create(passing.key, { scopes: ['tasks:read'], ...wish });
      expect([status, body['detail']]).toEqual([403, expect.stringContaining(`expires at ${end}`)]);
    }
    expect((await ask('POST', `/v1/keys/${lasting.id}/rotate`, passing.key)).status).toBe(403);
    expect((await create(passing.key, { scopes: ['tasks:read'], expires_at: end })).status).toBe(201);
    expect((await ask('POST', `/v1/keys/${passing.id}/rotate`, passing.key)).status).toBe(200);
  });

  it('with one that was revoked a moment ago gets none, though its gateway still believes it', async () => {
    const { id, key } = await made({ scopes: ['keys:write', 'tasks:read'] });
    expect(await works(key, there)).toBe(true);
    await ask('DELETE', `/v1/keys/${id}`, keys.ann);
    const late = await ask('POST', `${there}/v1/keys`, key, { scopes: ['tasks:read'] });
    expect([401, 403]).toContain(late.status);
  });

  it('stays in their tenant, unless they administer the platform', async () => {
    const wish = { tenant: 'new', principal: 'zoe', scopes: ['keys:read'] };
    expect(await refusal(create(keys.boss, wish))).toEqual([403, 'forbidden', 'platform:admin']);
    expect(await refusal(ask('GET', '/v1/keys?tenant=other', keys.boss))).toEqual([403, 'forbidden', 'platform:admin']);
    const { key, id } = await made(wish, keys.admin);
    expect((await ask('GET', '/v1/keys', key)).body).toMatchObject({
      keys: [{ id, tenant: 'new' }],
      next_cursor: null,
    });
    expect((await ask('GET', '/v1/keys?tenant=new', keys.admin)).body).toMatchObject({ keys: [{ id }] });
    expect((await ask('DELETE', `/v1/keys/${id}`, keys.stranger)).status).toBe(404);
  });

  it('cannot take over a key that may do more than theirs by rotating it', async () => {
    const [, id] = keys.boss.split('_');
    expect((await ask('POST', `/v1/keys/${id}/rotate`, keys.limited)).status).toBe(403);
    expect(await works(keys.boss, there)).toBe(true);
  });

  it('revokes no key that administers the platform without doing so themselves', async () => {
    const [, id] = keys.admin.split('_');
    expect(await refusal(ask('DELETE', `/v1/keys/${id}`, keys.boss))).toEqual([403, 'forbidden', 'platform:admin']);
    expect(await works(keys.admin, there)).toBe(true);
  });
});

describe('keys', () => {
  it('are listed page by page, each once', async () => {
    const seen: string[] = [];
    let cursor = '';
    do {
      const gateway = seen.length % 2 ? here : there;
      const { body } = await ask('GET', `${gateway}/v1/keys?limit=3${cursor}`, keys.ann);
      const page = body as { keys: { id: string; tenant: string }[]; next_cursor: string | null };
      expect(page.keys.every(({ tenant }) => tenant === 'default')).toBe(true);
      seen.push(...page.keys.map(({ id }) => id));
      cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
    } while (cursor !== '');
    const { rows } = await sql.query<{ id: string }>(
      `select id from api_keys where tenant = 'default' order by created_at, id`,
    );
    expect(seen).toEqual(rows.map(({ id }) => id));
  });

  it('that are used say when, after their gateway has written it down', async () => {
    const { id, key } = await made();
    const extra = await installation.addGateway();
    expect(await works(key, extra.url)).toBe(true);
    expect((await ask('GET', `/v1/keys/${id}`, keys.ann)).body).toMatchObject({ last_used_at: null });
    await extra.end('SIGTERM');
    const { body } = await ask('GET', `/v1/keys/${id}`, keys.ann);
    expect(Math.abs(Date.parse(String(body['last_used_at'])) - Date.now())).toBeLessThan(60_000);
  });
});

describe('whoever fails to authenticate', () => {
  it('is told to wait after some attempts, recorded, and keeps nobody out who was good before', async () => {
    expect(await works(keys.ann, there)).toBe(true);
    const id = keys.ann.split('_')[1]!;
    const attempts = Array.from({ length: 30 }, () => `swy_${id}_${'x'.repeat(40)}`);
    const answers = await Promise.all(attempts.map((key) => ask('GET', `${there}/v1/tasks`, key)));
    const limited = answers.filter(({ status }) => status === 429);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 429]));
    expect(limited.length).toBeGreaterThanOrEqual(9);
    expect(limited.every(({ headers }) => Number(headers.get('retry-after')) >= 1)).toBe(true);
    expect(await works(keys.ann, there)).toBe(true);
    expect(await works(keys.boss, here)).toBe(true);
    const recorded = async (): Promise<number> => {
      const text = `select details from audit_records where action = 'caller.authenticate' and target = $1 and outcome = 'denied'`;
      const { rows } = await sql.query<{ details: string }>(text, [id]);
      expect(rows.every(({ details }) => !details.includes('xxxx'))).toBe(true);
      return rows.reduce((sum, { details }) => sum + (JSON.parse(details) as { count: number }).count, 0);
    };
    await until(async () => (await recorded()) >= 20, { timeoutMs: 20_000 });
  });
});
