import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { ERRORS, SCOPES } from '#lib/domain';
import type { ErrorCode, Scope } from '#lib/domain';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation } from '../support/installation.js';
import { createKeys, type KeyWish } from '../support/keys.js';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly schema: { readonly type?: string; readonly format?: string; readonly maximum?: number };
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
  readonly scopes?: readonly Scope[];
  /** Takes the token of a run, and no caller's credential. */
  readonly isForRuns: boolean;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: {
    readonly code: ErrorCode;
    readonly status: number;
    readonly instance: string;
    readonly errors?: readonly { readonly path: string; readonly code: string; readonly message: string }[];
  };
}

jest.setTimeout(60_000);

const OWN_TASK = 'a-task-of-mine';
const WITHOUT_ALL = SCOPES.filter((scope) => scope !== 'tasks:all');
const TABLES = [
  'tasks',
  'task_heads',
  'events',
  'submit_keys',
  'outbox',
  'audit_records',
  'backend_versions',
  'artifacts',
];

let database: TestDatabase;
let installation: Installation;
let base: string;
let operations: readonly Operation[];
let keys: Record<'mine' | 'colleague' | 'stranger' | 'expired' | 'revoked', string>;
let scopeless: Record<Scope, string>;
let before: readonly number[];

/** Wires of others say what is wrong in words of their own; their tests know them. Who gets in is the route matrix's. */
const FOREIGN = /^\/(?:(?:tasks|agents|a2a|ap|agui)(?:\/|$)|v1\/(?:chat|models)(?:\/|$))/;

beforeAll(async () => {
  database = await createDatabase();
  keys = await createKeys(database.url, {
    mine: { principal: 'ann', scopes: WITHOUT_ALL },
    colleague: { principal: 'bob', scopes: WITHOUT_ALL },
    stranger: { tenant: 'other', principal: 'ann' },
    expired: { principal: 'ann', expiresAtMs: Date.now() - 1000 },
    revoked: { principal: 'ann', revoked: true },
  });
  const wishes = SCOPES.map((scope) => [scope, { principal: 'ann', scopes: SCOPES.filter((each) => each !== scope) }]);
  scopeless = await createKeys(database.url, Object.fromEntries(wishes) as Record<Scope, KeyWish>);
  const env = { MAX_AUTH_FAILURES: '1000000' };
  installation = await Installation.start({ databaseUrl: database.url, gateways: 1, runtimes: 0, env });
  base = installation.gateways[0]!.url;
  operations = await describedOperations();
  await call(`${base}/v1/tasks`, { key: keys.mine, body: { task_id: OWN_TASK, agent_id: 'scripted', input: 'x' } });
  before = await stored();
});

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
});

async function describedOperations(): Promise<Operation[]> {
  const { body } = await call(`${base}/openapi.json`);
  const paths = body['paths'] as Record<
    string,
    Record<
      string,
      {
        parameters?: Parameter[];
        requestBody?: Operation['requestBody'];
        'x-scopes'?: Scope[];
        'x-task-token'?: unknown;
      }
    >
  >;
  const native = Object.entries(paths).filter(([path]) => !FOREIGN.test(path));
  return native.flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([method, { parameters = [], requestBody, 'x-scopes': scopes, ...rest }]) => ({
      method: method.toUpperCase(),
      path,
      parameters,
      requestBody,
      scopes,
      isForRuns: scopes === undefined && rest['x-task-token'] !== undefined,
    })),
  );
}

/** How many rows there are of everything a request may write. */
async function stored(): Promise<number[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const counts: number[] = [];
    for (const table of TABLES) {
      // That an attempt was denied is recorded; it must not have done anything else.
      const which = table === 'audit_records' ? "where outcome <> 'denied'" : '';
      const { rows } = await client.query(`select count(*)::int as n from switchyard.${table} ${which}`);
      counts.push(rows[0].n);
    }
    return counts;
  } finally {
    await client.end();
  }
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Sends exactly this; `fetch` would mend paths and headers. */
function send({ method, path, key, headers, body }: Sent): Promise<Answer> {
  const { hostname, port } = new URL(base);
  const type =
    body === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        hostname,
        port,
        method,
        path,
        headers: { accept: 'application/json', ...(key && { 'x-api-key': key }), ...type, ...headers },
      },
      (response) => {
        let text = '';
        response.on('data', (chunk) => (text += String(chunk)));
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            body: text.startsWith('{') ? JSON.parse(text) : ({} as never),
          }),
        );
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

const fill = (path: string, value: string): string => path.replace(/\{[^}]+\}/g, value);
const isTask = ({ path }: Operation): boolean => path.startsWith('/v1/tasks/{');
const queryOf = ({ parameters }: Operation): readonly Parameter[] => parameters.filter((each) => each.in === 'query');

const NO_TIMES = ['0000-01-01T00:00:00Z', '0001-01-01T00:00:00%2B14:00', '9999-12-31T23:59:59-14:00'];
const NO_INTEGERS = ['', 'x', '1.5', '1e2', '-1', '0x10', '%20', '99999999999999999999999', 'NaN', 'null'];

/** Queries in which a parameter is not what its schema says. */
function malformed(name: string, { type, format, maximum }: Parameter['schema']): string[] {
  const values = ['%00', ...(format === 'date-time' ? NO_TIMES : []), ...(type === 'integer' ? NO_INTEGERS : [])];
  if (type === 'integer' && maximum !== undefined) values.push(String(maximum + 1));
  return [...values.map((value) => `${name}=${value}`), ...(type === 'array' ? [] : [`${name}=1&${name}=2`])];
}

/** What every refusal has to be, under the name of its breach. */
const RULES: readonly (readonly [string, (answer: Answer, what: string) => boolean])[] = [
  ['is our fault', ({ status }) => status < 500],
  ['is no refusal', ({ status }) => status >= 400],
  ['has no code of its status', ({ status, body }) => ERRORS[body.code]?.status === status && body.status === status],
  ['is no problem document', ({ headers }) => headers['content-type'] === 'application/problem+json'],
  ['has no request id', ({ headers }) => typeof headers['x-request-id'] === 'string'],
  // A path that cannot be decoded is all there is to name.
  [
    'names no fault',
    ({ status, body }, what) => status !== 400 || what.includes('%') || (body.errors ?? []).length > 0,
  ],
];

/** What an answer that should be a refusal lacks. */
function flaws(what: string, answer: Answer): string[] {
  return RULES.filter(([, holds]) => !holds(answer, what)).map(([flaw]) => `${what}: ${answer.status} ${flaw}`);
}

describe('every route', () => {
  it('is described, those of the contract among them', () => {
    const described = operations.map(({ method, path }) => `${method} ${path}`);
    expect(described).toEqual(
      expect.arrayContaining(['POST /v1/tasks', 'GET /v1/tasks/{id}/events', 'GET /v1/agents', 'POST /v1/artifacts']),
    );
    expect(described.length).toBeGreaterThanOrEqual(28);
  });

  it('refuses missing, malformed, unknown, expired and revoked keys with 401', async () => {
    const credentials: Readonly<Record<string, string>>[] = [
      {},
      { authorization: 'Basic eHg6eHg=' },
      { authorization: 'Bearer nonsense' },
      { authorization: `Bearer swy_nobody_${'x'.repeat(40)}` },
      { authorization: `Bearer ${keys.mine}x` },
      { authorization: `Bearer ${keys.expired}` },
      { 'x-api-key': keys.revoked },
      { 'x-api-key': keys.mine, authorization: `Bearer ${keys.colleague}` },
    ];
    const wrong: string[] = [];
    for (const operation of operations.filter(({ scopes }) => scopes !== undefined)) {
      for (const headers of credentials) {
        const what = `${operation.method} ${operation.path} ${JSON.stringify(headers)}`;
        const answer = await send({
          method: operation.method,
          path: fill(operation.path, OWN_TASK),
          headers,
          body: operation.requestBody && '{',
        });
        wrong.push(...flaws(what, answer));
        if (answer.status !== 401 || answer.headers['www-authenticate'] !== 'Bearer')
          wrong.push(`${what}: ${answer.status}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('refuses a key that lacks one of its scopes with 403, whatever else is wrong', async () => {
    const wrong: string[] = [];
    for (const operation of operations) {
      for (const scope of operation.scopes ?? []) {
        const what = `${operation.method} ${operation.path} without ${scope}`;
        const path = `${fill(operation.path, OWN_TASK)}?nonsense=1`;
        const answer = await send({
          method: operation.method,
          path,
          key: scopeless[scope],
          body: operation.requestBody && '{',
        });
        wrong.push(...flaws(what, answer));
        if (answer.status !== 403) wrong.push(`${what}: ${answer.status}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('shows nothing of a task to another principal or another tenant: it is not there', async () => {
    const wrong: string[] = [];
    for (const operation of operations.filter(isTask)) {
      for (const key of [keys.colleague, keys.stranger]) {
        const path = fill(operation.path, OWN_TASK);
        const body = operation.requestBody && '{}';
        const foreign = await send({ method: operation.method, path, key, body });
        const missing = await send({ method: operation.method, path: fill(operation.path, 'no-such-task'), key, body });
        wrong.push(...flaws(`${operation.method} ${path}`, foreign));
        if (foreign.status !== 404 || foreign.body.code !== 'not_found')
          wrong.push(`${operation.method} ${path}: ${foreign.status}`);
        const same = JSON.stringify({ ...missing.body, instance: path }) === JSON.stringify(foreign.body);
        if (!same) wrong.push(`${operation.method} ${path}: tells a foreign task from a missing one`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('answers hostile ids in its path with 400, 403, 404, 414 or 422', async () => {
    const ids = [
      '%00',
      '%FF',
      '%',
      '..%2f..%2fetc',
      '%2e%2e',
      '.',
      'x'.repeat(5000),
      '%F0%9F%92%A9',
      "'%20or%201=1--",
      '%ED%A0%80',
      '__proto__',
      'constructor',
      'null',
      '%0d%0aset-cookie:x',
      '-1',
      '$ne',
    ];
    const wrong: string[] = [];
    for (const operation of operations.filter(({ path, isForRuns }) => path.includes('{') && !isForRuns)) {
      for (const id of ids) {
        const what = `${operation.method} ${operation.path} ${id.slice(0, 30)}%`;
        const answer = await send({ method: operation.method, path: fill(operation.path, id), key: keys.mine });
        wrong.push(...flaws(what, answer));
        if (![400, 403, 404, 405, 414, 422].includes(answer.status)) wrong.push(`${what}: ${answer.status}`);
        // A hostile id behind one that is good.
        const within = fill(operation.path.replace('{id}', OWN_TASK), id);
        if (within === fill(operation.path, OWN_TASK)) continue;
        const nested = await send({ method: operation.method, path: within, key: keys.mine });
        wrong.push(...flaws(what, nested));
        if (![400, 403, 404, 405, 414, 422].includes(nested.status)) wrong.push(`${within}: ${nested.status}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('refuses every parameter of its query that is malformed, repeated or unknown, and names it', async () => {
    const wrong: string[] = [];
    for (const operation of operations.filter((each) => queryOf(each).length > 0)) {
      const path = fill(operation.path, OWN_TASK);
      const refused = [
        ['nonsense=1', 'query.nonsense'],
        ['__proto__=1', 'query.__proto__'],
        ['constructor=1', 'query.constructor'],
        ...queryOf(operation).flatMap(({ name, schema }) =>
          malformed(name, schema).map((query) => [query, `query.${name}`]),
        ),
      ];
      for (const [query, fault] of refused) {
        const answer = await send({ method: operation.method, path: `${path}?${query}`, key: keys.mine });
        const what = `${operation.method} ${operation.path}?${query}`;
        wrong.push(...flaws(what, answer));
        if (answer.status !== 400 || !answer.body.errors?.some((each) => each.path === fault))
          wrong.push(`${what}: ${answer.status} ${JSON.stringify(answer.body)}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('refuses every body that is not one JSON object in UTF-8, at most as long as allowed', async () => {
    const deep = `{"input":${'['.repeat(100)}${']'.repeat(100)}}`;
    const bodies: readonly (readonly [string | Buffer, number, Readonly<Record<string, string>>?])[] = [
      ['{', 400],
      ['[]', 400],
      ['[{"input":"x"}]', 400],
      ['null', 400],
      ['"x"', 400],
      ['7', 400],
      ['{"input":"x"} x', 400],
      ['{"input":"x","input":"y"}', 400],
      ['{"reason":"x","reason":"y"}', 400],
      ['{"__proto__":{"isAdmin":true}}', 400],
      ['{"constructor":{"prototype":{}}}', 400],
      ['{"nonsense":1}', 400],
      ['{"input":12345678901234567890}', 400],
      ['{"input":1e999}', 400],
      [deep, 400],
      [Buffer.from('{"input":"\xff"}', 'latin1'), 400],
      [`{"input":"${'x'.repeat(1_048_576)}"}`, 413],
      ['x'.repeat(10_000_000), 413],
      ['{"input":"x"}', 415, { 'content-type': 'text/plain' }],
      ['input=x', 415, { 'content-type': 'application/x-www-form-urlencoded' }],
      ['{"input":"x"}', 415, { 'content-encoding': 'gzip' }],
      ['{"input":"x"}', 415, { 'content-type': 'application/json; charset=utf-16' }],
    ];
    const wrong: string[] = [];
    const takesJson = ({ requestBody, isForRuns }: Operation): boolean =>
      requestBody?.content['application/json'] !== undefined && !isForRuns;
    for (const operation of operations.filter(takesJson)) {
      for (const [body, elsewhere, headers] of bodies) {
        // What takes forms as well finds other faults in them.
        const type = headers?.['content-type'] ?? 'application/json';
        const status = type !== 'application/json' && operation.requestBody?.content[type] ? 400 : elsewhere;
        const what = `${operation.method} ${operation.path} ${body.toString().slice(0, 40)}`;
        const answer = await send({
          method: operation.method,
          path: fill(operation.path, OWN_TASK),
          key: keys.mine,
          body,
          headers,
        });
        wrong.push(...flaws(what, answer));
        if (answer.status !== status) wrong.push(`${what}: ${answer.status} ${JSON.stringify(answer.body)}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('names the methods a path takes when it is called with another', async () => {
    const wrong: string[] = [];
    for (const path of new Set(operations.map((operation) => operation.path))) {
      const taken = operations.filter((operation) => operation.path === path).map(({ method }) => method);
      const allow = [...taken, ...(taken.includes('GET') ? ['HEAD'] : [])].sort().join(', ');
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'].filter(
        (each) => !taken.includes(each),
      )) {
        const answer = await send({ method, path: fill(path, OWN_TASK), key: keys.mine });
        wrong.push(...flaws(`${method} ${path}`, answer));
        if (answer.status !== 405 || answer.headers['allow'] !== allow)
          wrong.push(`${method} ${path}: ${answer.status} ${String(answer.headers['allow'])}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe('a submission', () => {
  it('that asks for what does not exist is refused with the code that says so', async () => {
    const cases: readonly (readonly [object, number, ErrorCode])[] = [
      [{ input: 'x', agent_id: 'nobody' }, 422, 'unknown_agent'],
      [{ input: 'x', agent_id: 'constructor' }, 422, 'unknown_agent'],
      [{ input: 'x', agent_id: 'closed' }, 422, 'agent_disabled'],
      [{ input: { no: 'script' }, agent_id: 'strict', type: 'strict' }, 422, 'unsupported_input'],
      [{ input: 'x', agent_id: 'strict', type: 'strict' }, 422, 'unsupported_input'],
      [{ input: { script: [] }, agent_id: 'strict', type: 'other' }, 422, 'no_route'],
      [{ input: 'x', session_id: '' }, 400, 'invalid_request'],
      [{ input: [{ type: 'image', media_type: 'image/png', data: 'eA==' }] }, 422, 'unsupported_input'],
      [{ input: 'x', callback: { url: 'http://127.0.0.1/y' } }, 400, 'invalid_request'],
      [{ input: 'x', agent_id: 'closed', tools: [{ name: 'look' }] }, 422, 'agent_disabled'],
      [{ input: 'x', task_id: OWN_TASK }, 409, 'idempotency_conflict'],
    ];
    const answers = await Promise.all(
      cases.map(([body]) => send({ method: 'POST', path: '/v1/tasks', key: keys.mine, body: JSON.stringify(body) })),
    );
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
      cases.map(([, status, code]) => [status, code]),
    );
  });

  it('whose tools, rules or parts are malformed is refused by path, and its good rules are not taken alone', async () => {
    const file = { type: 'file', media_type: 'text/plain' };
    const cases: readonly (readonly [object, string])[] = [
      [{ input: 'x', tools: { name: 'look' } }, '/tools'],
      [
        { input: 'x', tools: [{ name: 'look', parameters: { type: 'object', properties: 7 } }] },
        '/tools/0/parameters/properties',
      ],
      [{ input: 'x', tools: [{ name: '../look' }] }, '/tools/0/name'],
      [{ input: 'x', tools: [{ name: 'constructor' }, { name: 'constructor' }] }, '/tools/1/name'],
      [{ input: 'x', context: { allow_tools: 'all' } }, '/context/allow_tools'],
      [
        { input: 'x', context: { deny_rules: [{ tool_name: 'rm' }, { tool_name: '*' }] } },
        '/context/deny_rules/1/tool_name',
      ],
      [{ input: 'x', context: { deny_rules: [{ tool: 'rm' }] } }, '/context/deny_rules/0/tool'],
      [{ input: [{ ...file, data: 'not base64!' }] }, '/input/0/data'],
      [{ input: [{ ...file, data: 'eA==', artifact_id: `art_${'0'.repeat(32)}` }] }, '/input/0'],
      [{ input: [{ ...file, artifact_id: "' or 1=1" }] }, '/input/0/artifact_id'],
      [{ input: [{ ...file, url: 'javascript' }] }, '/input/0/url'],
      [{ input: [{ type: 'constructor' }] }, '/input/0/type'],
      [{ input: 'x', mode: 'later' }, '/mode'],
      [{ input: 'x', deadline_seconds: 2_592_001 }, '/deadline_seconds'],
    ];
    for (const [body, path] of cases) {
      const answer = await send({ method: 'POST', path: '/v1/tasks', key: keys.mine, body: JSON.stringify(body) });
      expect([path, answer.status, answer.body.code, answer.body.errors?.[0]?.path]).toEqual([
        path,
        400,
        'invalid_request',
        path,
      ]);
    }
  });

  it('cannot take the name of a task of another principal, and learns nothing of it', async () => {
    const body = JSON.stringify({ task_id: OWN_TASK, agent_id: 'scripted', input: 'x' });
    const answer = await send({ method: 'POST', path: '/v1/tasks', key: keys.colleague, body });
    expect([answer.status, answer.body.code, JSON.stringify(answer.body).includes('ann')]).toEqual([
      409,
      'idempotency_conflict',
      false,
    ]);
  });
});

describe('a cursor', () => {
  it.each(['x', '-1', '1.5', `evt_${'0'.repeat(32)}`, '', '%20'])('%j is refused where it stands', async (cursor) => {
    const path = `/v1/tasks/${OWN_TASK}/events`;
    const query = await send({ method: 'GET', path: `${path}?from_seq=${cursor}`, key: keys.mine });
    const header = await send({
      method: 'GET',
      path,
      key: keys.mine,
      headers: { 'last-event-id': decodeURIComponent(cursor) || 'x' },
    });
    expect([query.status, query.body.errors?.[0]?.path]).toEqual([400, 'query.from_seq']);
    expect([header.status, header.body.errors?.[0]?.path]).toEqual([400, 'header.last-event-id']);
  });

  it('of a list that is not ours is refused', async () => {
    for (const path of [
      '/v1/tasks',
      `/v1/tasks/${OWN_TASK}/steps`,
      `/v1/tasks/${OWN_TASK}/artifacts`,
      '/v1/artifacts',
    ]) {
      for (const key of ['nonsense', '9999999999 s', '1 \0', '-1 s', '\0', "' or 1=1--", 'art_1', 'x'.repeat(700)]) {
        const cursor = Buffer.from(key).toString('base64url');
        const answer = await send({ method: 'GET', path: `${path}?cursor=${cursor}`, key: keys.mine });
        expect([path, key, answer.status, answer.body.errors?.[0]?.path]).toEqual([path, key, 400, 'query.cursor']);
      }
    }
  });
});

describe('after all that', () => {
  it('nothing has been stored, and nothing has gone wrong on our side', async () => {
    expect(Object.fromEntries((await stored()).map((count, index) => [TABLES[index], count]))).toEqual(
      Object.fromEntries(before.map((count, index) => [TABLES[index], count])),
    );
    expect(installation.gateways[0]!.log).not.toContain('request failed');
  });
});

describe('what a caller sends', () => {
  it('is stored exactly as it was spelt, keys of Object.prototype included', async () => {
    const input = '{"toString":{"constructor":1.0},"n":[1E2,-0,0.10],"s":"\\u0000\\ud800é\\/","hasOwnProperty":null}';
    const context = '{ "user_id":"u","constructor":{"prototype":[]},"valueOf":1.50}';
    const answer = await send({
      method: 'POST',
      path: '/v1/tasks',
      key: keys.mine,
      body: `{"task_id":"spelt","agent_id":"scripted","input":${input},"context":${context}}`,
    });
    expect(answer.status).toBe(202);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      const { rows } = await client.query("select input, context from switchyard.tasks where task_id = 'spelt'");
      expect(rows).toEqual([{ input, context }]);
    } finally {
      await client.end();
    }
  });
});
