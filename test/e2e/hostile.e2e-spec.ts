import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { EventStream } from '../support/event-stream.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import type { ScriptStep } from '../support/scripted/index.js';
import { until } from '../support/until.js';

jest.setTimeout(90_000);

type Body = Record<string, unknown>;

const R = '[redacted]';
const secretText = (): string => randomBytes(24).toString('hex');
/** What is planted; nothing of it may be printed by any process. */
const PLANTED = {
  key: `swy_planted_${secretText()}`,
  bearer: `eyJhbGciOiJFZERTQSJ9.eyJzdWIi${secretText()}.${secretText()}`,
  query: secretText(),
  model: `sk-proj-${secretText()}`,
  link: randomBytes(32).toString('base64'),
  emitted: `ghp_${secretText()}`,
  password: secretText(),
  url: secretText(),
};

const event = (type: string, payload: object): ScriptStep => ({ event: { type, payload } });
const END: ScriptStep = { result: 'done' };

let database: TestDatabase;
let installation: Installation;
let host: Server;
let asked: string[];

beforeAll(async () => {
  database = await createDatabase();
  asked = [];
  host = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (request.url?.startsWith('/away')) response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
    else response.writeHead(200, { 'content-type': 'text/plain' }).end(`number ${asked.length}`);
  }).listen(0, '127.0.0.1');
  await once(host, 'listening');
  installation = await Installation.start({
    databaseUrl: database.url,
    gateways: 1,
    runtimes: 1,
    env: {
      AGENTS_FILE: 'test/e2e/hostile.agents.yaml',
      OUTBOUND_ALLOW: `artifact=127.0.0.1:${(host.address() as AddressInfo).port}`,
      LOG_LEVEL: 'debug',
      MODEL_BASE_URL: 'http://127.0.0.1:1/v1',
      MODEL_NAME: 'none',
      MODEL_API_KEY: PLANTED.model,
      LINK_KEYS: `k1:${PLANTED.link}`,
    },
  });
});

afterAll(async () => {
  await installation?.stop();
  host?.close();
  await database?.drop();
});

const at = (path = ''): string => `${installation.gateways[0]!.url}/v1/tasks${path}`;

async function run(agentId: string, input: unknown, more: object = {}): Promise<Body> {
  const answer = await call(at(), { body: { agent_id: agentId, input, ...more } });
  expect(answer.status).toBe(202);
  const end = async (): Promise<Body | undefined> => {
    const { body } = await call(at(`/${String(answer.body.task_id)}`));
    return ['succeeded', 'failed'].includes(String(body.state)) ? body : undefined;
  };
  return until(end, { timeoutMs: 30_000, what: 'the task to end' });
}

const play = (script: readonly ScriptStep[]): Promise<Body> =>
  run('hostile', { script }, { context: { detail: 'verbose' } });

async function log(task: Body): Promise<{ event_type: string; payload: Body }[]> {
  const headers = { accept: 'application/json' };
  const { body } = await call(at(`/${String(task.task_id)}/events?limit=500`), { headers });
  return body.events as { event_type: string; payload: Body }[];
}

/** Every row of the log and of what is made from it; the input of a task is kept as it was sent, and is left out. */
async function stored(): Promise<string> {
  const client = new pg.Client(database.url);
  await client.connect();
  try {
    await client.query('set search_path to switchyard');
    const texts: string[] = [];
    for (const table of ['events', 'steps', 'artifacts', 'confirmations', 'audit_records']) {
      const { rows } = await client.query<{ text: string }>(`select t::text as text from ${table} t`);
      texts.push(...rows.map(({ text }) => text));
    }
    const { rows } = await client.query<{ text: string }>(`select (to_jsonb(t) - 'input')::text as text from tasks t`);
    return [...texts, ...rows.map(({ text }) => text)].join('\n');
  } finally {
    await client.end();
  }
}

describe('a hostile runner', () => {
  const failing: readonly (readonly [string, ScriptStep])[] = [
    ['the end of its task as an event', event('task.succeeded', { result: { text: 'mine', metadata: {} } })],
    ['a type of its own', event('task.completed', { text: 'x' })],
    ['a delta that names another type', event('message.delta', { message_id: 'm', text: 'x', type: 'task.succeeded' })],
    ['a progress event of the platform', event('task.started', { run_no: 9, runtime_id: 'r' })],
    ['an artifact of somebody else', event('artifact.created', { artifact: { artifact_id: 'art_1' } })],
    ['a confirmation nobody asked for', event('agent.request_confirmation', { wait_id: 'w', confirmations: [] })],
    ['a final answer of its own', event('message.completed', { message_id: 'm', role: 'a', text: 'x', final: true })],
    ['a name with a line break', event('step.started', { step_id: 'a\n\nevent: task.succeeded', step_name: 'x' })],
    ['a name that is a secret', event('message.started', { message_id: PLANTED.emitted, role: 'a' })],
    ['U+0000', event('message.delta', { message_id: 'm', text: 'a\0b' })],
    ['half a character', event('message.delta', { message_id: 'm', text: 'a\ud800' })],
    ['a step name that is endless', event('step.started', { step_id: 's', step_name: 'x'.repeat(20_000) })],
    ['what is no event', { garbage: { kind: 'event', type: 'message.delta', payload: 'x' } }],
    ['what is nothing', { garbage: { kind: 'unheard-of' } }],
  ];

  it.each(failing)('that emits %s fails its task, and nothing of it is stored', async (_, step) => {
    const task = await play([step, END]);
    expect(task).toMatchObject({ state: 'failed', error: { code: 'protocol' } });
    const types = (await log(task)).map(({ event_type }) => event_type);
    expect(types.filter((type) => type !== 'message.started')).toEqual(['task.created', 'task.started', 'task.failed']);
  });

  it('cannot leave the frame, the line or the string its text is in', async () => {
    const text = '\r\n\r\nid: 99\nevent: task.succeeded\ndata: {"x":1}\n\n</script>\u2028\u001b[2J';
    const task = await play([event('message.delta', { message_id: 'm', text }), END]);
    const stream = await EventStream.open(at(`/${String(task.task_id)}/events`), { key: ADMIN_KEY });
    const frames = [];
    for await (const frame of stream) frames.push(frame);
    expect(frames.map(({ id }) => Number(id))).toEqual(frames.map((_, index) => index + 1));
    expect(frames.filter((frame) => frame.event === 'task.succeeded')).toHaveLength(1);
    const delta = frames.find((frame) => frame.event === 'message.delta')!;
    expect(JSON.parse(delta.data)).toMatchObject({ payload: { text } });
  });

  it('cannot put a secret anywhere in the log, at once or in pieces', async () => {
    const { emitted, password } = PLANTED;
    const named = { tool_call_id: 'c', tool_name: 't' };
    const task = await play([
      ...[...emitted].map((text) => event('message.delta', { message_id: 'm', text })),
      event('message.completed', { message_id: 'm', role: 'assistant', text: `it is ${emitted}` }),
      event('tool.invoked', { ...named, arguments: { password, note: emitted, url: 'javascript:alert(1)' } }),
      event('tool.completed', { ...named, output: { deep: [{ api_key: password }, `Bearer ${emitted}`] } }),
      event('tool.invoked', { tool_call_id: 'd', tool_name: 't', arguments: { pad: 'x '.repeat(9_000), password } }),
      event('agent.event', { framework: 'f', event: { [emitted]: `postgres://u:${password}@h/` } }),
      { result: { text: `done ${emitted}`, data: { secret: password }, metadata: { model: 'local', token: emitted } } },
    ]);
    expect(task).toMatchObject({ state: 'succeeded', result: { text: `done ${R}`, data: { secret: R } } });
    const everything = await stored();
    expect(everything).toContain(R);
    expect([password, emitted.slice(8), 'javascript:'].filter((part) => everything.includes(part))).toEqual([]);
    const artifacts = (await call(at(`/${String(task.task_id)}/artifacts`))).body.artifacts as Body[];
    for (const { artifact_id } of artifacts) {
      const url = `${installation.gateways[0]!.url}/v1/artifacts/${String(artifact_id)}`;
      const { body } = await call(url);
      const bytes = await (await fetch(String(body.download_url))).text();
      expect(bytes).toContain('x x x');
      expect(bytes).not.toContain(password);
    }
    expect(artifacts).toHaveLength(1);
  });
});

describe('an input by URL', () => {
  const url = (path: string): string => `http://127.0.0.1:${(host.address() as AddressInfo).port}${path}`;
  const file = (from: string): object[] => [{ type: 'file', url: from, name: 'n.txt' }];

  it('is fetched by the run, once for all repeats, and kept as an artifact of the task', async () => {
    asked.splice(0);
    const body = { agent_id: 'reader', task_id: 'by-url', input: file(url(`/once?token=${PLANTED.url}`)) };
    const answers = await Promise.all([1, 2, 3].map(() => call(at(), { body })));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    const task = await run('reader', body.input, { task_id: 'by-url' });
    expect(task).toMatchObject({
      state: 'succeeded',
      result: { data: { readableInput: [{ type: 'text', text: 'number 1' }] } },
    });
    expect(asked).toHaveLength(1);
    const { artifacts } = (await call(at('/by-url/artifacts'))).body as { artifacts: Body[] };
    expect(artifacts).toMatchObject([{ kind: 'input', name: 'n.txt', media_type: 'text/plain', size: 8 }]);
  });

  it.each([
    ['the metadata service', () => 'http://169.254.169.254/latest/meta-data/'],
    ['the loopback', () => 'http://127.0.0.1:1/'],
    ['the loopback, spelt otherwise', () => 'http://0x7f.1:1/'],
    ['IPv4 inside IPv6', () => 'http://[::ffff:10.0.0.1]/'],
    ['a host that redirects there', () => url('/away')],
  ])('that leads to %s fails the task, in words that do not tell the URL', async (_, from) => {
    const task = await run('reader', file(`${from()}?token=${PLANTED.url}`));
    expect(task).toMatchObject({ state: 'failed', error: { code: 'rejected' } });
    expect(JSON.stringify(task.error)).not.toContain(PLANTED.url);
  });
});

describe('what the processes print', () => {
  it('holds no key, token, password, link or secret of anybody, at the level of debug', async () => {
    const { key, bearer, query } = PLANTED;
    const tries: readonly [string, Record<string, string>][] = [
      [at(), { authorization: `Bearer ${key}` }],
      [at(), { authorization: `Bearer ${bearer}` }],
      [at(), { authorization: `Basic ${Buffer.from(`u:${query}`).toString('base64')}` }],
      [at(), { 'x-api-key': key }],
      [at(), { cookie: `session=${query}` }],
      [at(`?api_key=${query}&access_token=${bearer}`), { authorization: `Bearer ${ADMIN_KEY}` }],
      [at(`/${key}`), { authorization: `Bearer ${ADMIN_KEY}` }],
      [`${installation.gateways[0]!.url}/v1/artifacts/art_${'0'.repeat(32)}/content?exp=1&sig=k1.${query}`, {}],
    ];
    for (const [url, headers] of tries) await (await fetch(url, { headers })).text();
    await call(at(), { body: { agent_id: 'hostile', input: `"${key}`, context: { attributes: { key } } } });
    await run('hostile', { script: [{ throw: { kind: 'bug' } }] }, { context: { token: query } });
    await installation.stop();
    const printed = [...installation.gateways, ...installation.runtimes].map((member) => member.printed).join('\n');
    expect(printed).toContain('"level"');
    const parts = Object.values({ ...PLANTED, admin: ADMIN_KEY }).map((secret) => secret.slice(12, 40));
    expect(parts.filter((part) => printed.includes(part))).toEqual([]);
    const lines = printed.split('\n').filter((each) => each.startsWith('{'));
    for (const line of lines) expect(() => void JSON.parse(line)).not.toThrow();
    // What is not configured is no secret, and its operator is told.
    const told = lines.map((line) => JSON.parse(line) as Body).find(({ settings }) => settings !== undefined);
    expect(told).toMatchObject({ settings: ['TOKEN_KEYS', 'WEBHOOK_KEYS'] });
  });
});
