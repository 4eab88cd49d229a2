import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as newman from 'newman';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, call, Installation } from '../support/installation.js';
import { assertProjections } from '../support/projections.js';
import { testRedisUrl } from '../support/redis.js';

/** The official collection is no part of this project: its licence lets us run it, and whoever has a copy keeps it beside the clone. */
const COLLECTION = path.resolve('..', 'shared', 'contracts', 'vendor', 'agent-protocol-v1.postman.json');
const MAX_UPLOAD_BYTES = 65_536;

let database: TestDatabase;
let installation: Installation;
let url: string;
/** Another gateway, where tasks are held for a second only. */
let hasty: string;

beforeAll(async () => {
  database = await createDatabase();
  installation = await Installation.start({
    databaseUrl: database.url,
    redisUrl: testRedisUrl(),
    gateways: 1,
    runtimes: 1,
    env: {
      AGENTS_FILE: path.resolve('test/interop/agents.yaml'),
      AGENT_PROTOCOL_STEP_SECONDS: '1',
      MAX_UPLOAD_BYTES: String(MAX_UPLOAD_BYTES),
    },
  });
  await installation.addGateway({ HELD_SECONDS: '1' });
  [url, hasty] = installation.gateways.map((gateway) => gateway.url) as [string, string];
}, 120_000);

afterAll(async () => {
  await installation?.stop();
  try {
    // What was held, released, given files and expired is as the log says, too.
    if (installation) await assertProjections(database.url);
  } finally {
    await database?.drop();
  }
});

type Body = Record<string, unknown>;

interface Answer<T = Body> {
  readonly status: number;
  readonly type: string;
  readonly body: T;
}

interface Step extends Body {
  readonly step_id: string;
  readonly status: string;
  readonly is_last: boolean;
  readonly output: string | null;
  readonly additional_output: Body & { readonly state: string };
}

/** A request with the headers that are given, and no others. */
async function send<T = Body>(
  method: string,
  rest: string,
  { body, headers = {}, at = url }: { body?: string | FormData; headers?: Record<string, string>; at?: string } = {},
): Promise<Answer<T>> {
  const response = await fetch(`${at}/ap/v1/agent/tasks${rest}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_KEY}`, ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  const type = response.headers.get('content-type') ?? '';
  return { status: response.status, type, body: (type.includes('json') ? JSON.parse(text) : text) as T };
}

const JSON_TYPE = { 'content-type': 'application/json' };
const get = <T = Body>(rest: string): Promise<Answer<T>> => send<T>('GET', rest);
const post = <T = Body>(rest: string, body: unknown, headers = {}, at = url): Promise<Answer<T>> =>
  send<T>('POST', rest, { body: JSON.stringify(body), headers: { ...JSON_TYPE, ...headers }, at });

async function create(input: unknown, agentId = 'scripted'): Promise<string> {
  const asked = typeof input === 'string' || input === undefined ? input : JSON.stringify(input);
  const { body } = await post('', { input: asked }, { 'x-agent-id': agentId });
  return String(body['task_id']);
}

async function execute(taskId: string, body: unknown = {}, at = url): Promise<Step> {
  const answer = await post<Step>(`/${taskId}/steps`, body, {}, at);
  expect([answer.status, answer.type]).toEqual([200, 'application/json; charset=utf-8']);
  expectStep(answer.body);
  return answer.body;
}

/** Every step until the last one. */
async function drive(taskId: string): Promise<readonly Step[]> {
  const steps = [];
  for (;;) {
    const step = await execute(taskId);
    steps.push(step);
    if (step.is_last) return steps;
  }
}

/** What the strictest of the clients asks of a step. */
function expectStep(step: Step): void {
  expect(['created', 'running', 'completed']).toContain(step.status);
  expect(step).toEqual({
    task_id: expect.any(String),
    step_id: expect.stringMatching(/^step_(\d+|end)$/),
    name: expect.any(String),
    status: expect.any(String),
    input: step['input'] === null ? null : expect.any(String),
    additional_input: expect.any(Object),
    output: step.output === null ? null : expect.any(String),
    additional_output: expect.any(Object),
    artifacts: expect.any(Array),
    is_last: expect.any(Boolean),
  });
}

const whenThere = existsSync(COLLECTION) ? describe : describe.skip;

whenThere('the official collection', () => {
  it(`passes: 12 requests, 26 assertions (needs ${path.basename(COLLECTION)} beside the clone)`, async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'switchyard-newman-'));
    try {
      writeFileSync(path.join(folder, 'test_output.txt'), 'washington');
      const { run } = await collect(folder);
      expect(run.failures.map(({ source, error }) => `${source?.name}: ${error.message}`)).toEqual([]);
      expect([run.stats.requests.total, run.stats.assertions.total, run.stats.assertions.failed]).toEqual([12, 26, 0]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

interface Item {
  readonly name: string;
  readonly item?: readonly Item[];
  readonly request?: { header?: { key: string; value: string }[] };
  readonly event?: unknown;
}

/** Runs it against the gateway, with a key on every request; the collection knows no authentication. */
function collect(folder: string): Promise<newman.RunSummary> {
  const collection = JSON.parse(readFileSync(COLLECTION, 'utf8')) as { item: Item[] };
  return new Promise((resolve, reject) => {
    newman.run(
      {
        collection: { ...collection, auth: { type: 'bearer', bearer: [{ key: 'token', value: ADMIN_KEY }] } },
        envVar: [{ key: 'url', value: url }],
        workingDir: folder,
        reporters: [],
      },
      (error, summary) => (error ? reject(error) : resolve(summary)),
    );
  });
}

const started = (id: string): object => ({ event: { type: 'step.started', payload: { step_id: id, step_name: id } } });
const completed = (id: string): object => ({ event: { type: 'step.completed', payload: { step_id: id } } });
const TWO_STEPS = [started('plan'), completed('plan'), started('write'), completed('write'), { result: 'written' }];
const QUESTION = { tool_call_id: 'q1', kind: 'question', prompt: 'Which colour?' };
const TOOL = { tool_call_id: 'c1', kind: 'tool_confirmation', tool_name: 'summarise', arguments: { text: 'x' } };

describe('creating a task', () => {
  it.each([
    ['no body and no type', {}],
    ['no body, but a type', { headers: JSON_TYPE }],
    ['an empty object', { body: '{}', headers: JSON_TYPE }],
    ['a null input', { body: '{"input":null}', headers: JSON_TYPE }],
    ['null additional input', { body: '{"input":"x","additional_input":null}', headers: JSON_TYPE }],
    ['fields nobody knows', { body: '{"input":"x","more":[1]}', headers: JSON_TYPE }],
  ])('takes %s', async (_, asked) => {
    const { status, body } = await send('POST', '', asked);
    const input = 'body' in asked && asked.body.includes('"x"') ? 'x' : null;
    const task = { task_id: expect.any(String), input, additional_input: {}, artifacts: [] };
    expect([status, body]).toEqual([200, task]);
    expect(await get(`/${String(body['task_id'])}`)).toMatchObject({ status: 200, body });
  });

  it.each([
    ['{"input":5}', 422, '/input'],
    ['{"additional_input":"s"}', 422, '/additional_input'],
    ['{"additional_input":[]}', 422, '/additional_input'],
    ['{"input":', 422, ''],
    ['[]', 422, ''],
    ['LONG', 413, undefined],
  ])('refuses %s with a message, and stores nothing', async (text, status, at) => {
    const body = text.replace('LONG', `{"input":"${'x'.repeat(1_100_000)}"}`);
    const before = await get('');
    const answer = await send<{ message: string; errors?: { path: string }[] }>('POST', '', {
      body,
      headers: JSON_TYPE,
    });
    expect([answer.status, typeof answer.body.message, answer.body.errors?.[0]?.path]).toEqual([status, 'string', at]);
    expect((await get('')).body['pagination']).toEqual(before.body['pagination']);
  });

  it('refuses another content type, an unknown agent and a wrong method with a message', async () => {
    const text = await send('POST', '', { body: 'x', headers: { 'content-type': 'text/plain' } });
    const agent = await post('', { input: 'x' }, { 'x-agent-id': 'nobody' });
    const method = await send('PUT', '/x', { body: '{}', headers: JSON_TYPE });
    const answers = [text, agent, method];
    expect(answers.map(({ status }) => status)).toEqual([415, 422, 405]);
    expect(answers.map(({ body }) => typeof body['message'])).toEqual(['string', 'string', 'string']);
  });

  it('keeps additional input beside an input, and hands it to the run in its context', async () => {
    const asked = {
      input: JSON.stringify([{ tell: ['context'] }]),
      additional_input: { run: 1.5, deep: { a: [null] } },
    };
    const { body } = await post('', asked);
    expect(body).toMatchObject(asked);
    const last = (await drive(String(body['task_id']))).at(-1)!;
    expect(last.additional_output['data']).toEqual({ context: { additional_input: asked.additional_input } });
  });

  it('starts at once when additional input is all there is', async () => {
    const { body } = await post('', { additional_input: { script: [{ result: 'by itself' }] } });
    const waited = await call(`${url}/v1/tasks/${String(body['task_id'])}/wait`);
    expect(waited.body).toMatchObject({ state: 'succeeded', result: { text: 'by itself' } });
    expect(await get(`/${String(body['task_id'])}`)).toMatchObject({
      body: { input: null, additional_input: body['additional_input'] },
    });
  });
});

describe('a task that was created', () => {
  it('waits for its first step, and is shown so by /v1', async () => {
    const id = await create('x');
    const task = await call(`${url}/v1/tasks/${id}`);
    expect(task.body).toMatchObject({ state: 'queued', run_no: 0, held_until: expect.any(String) });
    expect((await get<{ steps: Step[] }>(`/${id}/steps`)).body.steps).toMatchObject([
      { step_id: 'step_end', status: 'created', is_last: false },
    ]);
  });

  it('is started over /v1 as well, and once only', async () => {
    const id = await create('x');
    const starts = await Promise.all([1, 2, 3].map(() => call(`${url}/v1/tasks/${id}/start`, { method: 'POST' })));
    expect(starts.map(({ status }) => status).sort()).toEqual([200, 200, 202]);
    expect((await call(`${url}/v1/tasks/${id}/wait`)).body).toMatchObject({ state: 'succeeded', held_until: null });
  });

  it('fails when nobody executes a step in time, which says so here as well', async () => {
    const { body } = await post('', { input: 'x' }, {}, hasty);
    const id = String(body['task_id']);
    const waited = await call(`${url}/v1/tasks/${id}/wait?timeout_seconds=20`);
    expect(waited.body).toMatchObject({ state: 'failed', error: { code: 'held_expired' }, held_until: null });
    expect(await execute(id)).toMatchObject({
      status: 'completed',
      is_last: true,
      additional_output: { state: 'failed', error: { code: 'held_expired' } },
    });
  });
});

describe('executing steps', () => {
  it('hands out each step once it is over, the end last, and then the end again', async () => {
    const id = await create(TWO_STEPS);
    const steps = await drive(id);
    expect(steps.map(({ name, status, is_last }) => [name, status, is_last])).toEqual([
      ['plan', 'completed', false],
      ['write', 'completed', false],
      ['task', 'completed', true],
    ]);
    expect(steps[2]!.output).toBe('written');
    expect([await execute(id), await execute(id, { input: 'y' })]).toEqual([steps[2], steps[2]]);
    const { events } = (
      await call(`${url}/v1/tasks/${id}/events?types=task.started`, { headers: { accept: 'application/json' } })
    ).body;
    expect(events).toHaveLength(1);
  });

  it('hands out no step twice, whoever asks at once and on whichever gateway', async () => {
    const names = Array.from({ length: 12 }, (_, n) => `s${n}`);
    const id = await create([...names.flatMap((name) => [started(name), completed(name)]), { result: 'done' }]);
    const asks = Array.from({ length: 16 }, (_, n) => execute(id, {}, n % 2 === 0 ? url : hasty));
    const steps = await Promise.all(asks);
    const handed = steps.filter(({ is_last }) => !is_last).map(({ name }) => String(name));
    expect(handed.sort()).toEqual([...names].sort());
  });

  it('answers with what is under way when nothing is over in time', async () => {
    const id = await create('x', 'endless');
    const step = await execute(id);
    expect(step).toMatchObject({ name: 'work', status: 'running', is_last: false });
    expect((await get<Step>(`/${id}/steps/${step.step_id}`)).body).toEqual(step);
    await send('POST', `/${id}/cancel`);
    const last = (await drive(id)).at(-1)!;
    expect(last).toMatchObject({ status: 'completed', is_last: true, additional_output: { state: 'cancelled' } });
    expect((await get<{ steps: Step[] }>(`/${id}/steps`)).body.steps.map(({ status }) => status)).toEqual([
      'completed',
      'completed',
    ]);
  });

  it('tells how a task failed in words the schema has', async () => {
    const id = await create([started('plan'), { throw: { kind: 'rejected', effects: 'possible' } }]);
    const last = (await drive(id)).at(-1)!;
    expect(last).toMatchObject({
      status: 'completed',
      additional_output: { state: 'failed', error: { code: 'outcome_unknown' } },
    });
    expect((await get<{ steps: Step[] }>(`/${id}/steps`)).body.steps).toMatchObject([
      { name: 'plan', status: 'completed', additional_output: { state: 'failed' } },
      { is_last: true },
    ]);
  });

  it('gives a whole result, however long', async () => {
    const text = 'long '.repeat(10_000);
    const [last] = await drive(await create([{ result: text }]));
    expect(last!.output).toBe(text);
  });

  it('takes the input of the first step for what a task was not asked before', async () => {
    const id = await create(undefined);
    expect((await execute(id, { input: 'now' })).output).toBe('now');
    expect((await get(`/${id}`)).body).toMatchObject({ input: 'now' });
  });

  it('answers a question by input, once the question was handed out', async () => {
    const id = await create([{ pause: [QUESTION] }, { tell: ['answer'] }]);
    await call(`${url}/v1/tasks/${id}/start`, { method: 'POST' });
    await call(`${url}/v1/tasks/${id}/wait`);
    // It has not seen the question, so this is no answer to it.
    const asked = await execute(id, { input: 'y' });
    expect(asked).toMatchObject({ name: 'question', status: 'running', output: 'Which colour?', is_last: false });
    expect(await execute(id)).toEqual(asked);
    const last = await execute(id, { input: 'blue' });
    expect(last.additional_output['data']).toMatchObject({ answer: { input: 'blue' } });
    expect((await get<Step>(`/${id}/steps/${asked.step_id}`)).body).toMatchObject({
      status: 'completed',
      input: 'blue',
    });
  });

  it('approves a tool by a decision, and by no word', async () => {
    const id = await create([{ pause: [TOOL] }, { tell: ['answer'] }]);
    const asked = await execute(id);
    expect(asked).toMatchObject({ name: 'tool_confirmation', output: 'summarise({"text":"x"})' });
    expect(await execute(id, { input: 'yes' })).toEqual(asked);
    const decisions = [{ tool_call_id: 'c1', approved: true }];
    const wrong = await post(`/${id}/steps`, {
      additional_input: { decisions: [{ tool_call_id: 'c1', approved: 'yes' }] },
    });
    expect([wrong.status, wrong.body['code']]).toEqual([422, 'invalid_request']);
    const stale = await post(`/${id}/steps`, { additional_input: { wait_id: 'wait_0', decisions } });
    expect([stale.status, stale.body['code']]).toEqual([409, 'wait_changed']);
    const last = await execute(id, { additional_input: { decisions } });
    expect(last.additional_output['data']).toMatchObject({ answer: { decisions: [{ approved: true }] } });
  });
});

describe('lists', () => {
  it('count their pages, rounded up, and are empty past the end', async () => {
    const id = await create([
      ...Array.from({ length: 10 }, (_, n) => started(`s${n}`)).flatMap((event, n) => [event, completed(`s${n}`)]),
      { result: 'x' },
    ]);
    await drive(id);
    const pages = await Promise.all(
      [
        '',
        '?page_size=1',
        '?page_size=10&current_page=2',
        '?current_page=3',
        '?page_size=1000',
        '?current_page=2147483647',
      ].map((query) => get<{ steps: Step[]; pagination: Body }>(`/${id}/steps${query}`)),
    );
    const numbers = pages.map(
      ({
        body: {
          steps,
          pagination: { total_items, total_pages, current_page, page_size },
        },
      }) => [steps.length, total_items, total_pages, current_page, page_size],
    );
    expect(numbers).toEqual([
      [10, 11, 2, 1, 10],
      [1, 11, 11, 1, 1],
      [1, 11, 2, 2, 10],
      [0, 11, 2, 3, 10],
      [11, 11, 1, 1, 100],
      [0, 11, 2, 2_147_483_647, 10],
    ]);
    expect((await get(`/${id}/artifacts`)).body).toMatchObject({
      artifacts: [],
      pagination: { total_items: 0, total_pages: 0 },
    });
  });

  it.each([
    'page_size=0',
    'page_size=-1',
    'page_size=abc',
    'page_size=1.5',
    'page_size=1e3',
    'page_size=',
    'current_page=0',
    'page_size=1&page_size=2',
    'page_size=99999999999',
  ])('refuse %s', async (query) => {
    const { status, body } = await get(`?${query}`);
    expect([status, typeof body['message']]).toEqual([422, 'string']);
  });

  it('of tasks show the newest first, whichever protocol made them', async () => {
    const { body } = await call(`${url}/v1/tasks`, {
      body: { agent_id: 'scripted', input: { script: [{ result: 'x' }] } },
    });
    const { tasks } = (await get<{ tasks: Body[] }>('?page_size=1')).body;
    expect(tasks).toEqual([
      { task_id: body['task_id'], input: null, additional_input: { script: [{ result: 'x' }] }, artifacts: [] },
    ]);
  });
});

describe('what is not there', () => {
  it('is 404 with a message, wherever it is asked for', async () => {
    const [id, other] = [
      await create('x'),
      await create([{ artifact: { name: 'a.txt', text: 'a' } }, { result: 'x' }]),
    ];
    await drive(other);
    const { artifacts } = (await get<{ artifacts: { artifact_id: string }[] }>(`/${other}/artifacts`)).body;
    const form = (): FormData => formOf([['file', new Blob(['x']), 'a.txt']]);
    const answers = await Promise.all([
      get('/none'),
      get('/none/steps'),
      get('/none/steps?stream=true'),
      post('/none/steps', {}),
      get('/none/steps/step_end'),
      get('/none/artifacts'),
      send('POST', '/none/artifacts', { body: form() }),
      get('/none/artifacts/none'),
      post('/none/cancel', {}),
      get(`/${id}/steps/step_9`),
      get(`/${id}/artifacts/none`),
      get(`/${id}/artifacts/${artifacts[0]!.artifact_id}`),
    ]);
    expect(answers.map(({ status, body }) => [status, typeof body['message']])).toEqual(
      answers.map(() => [404, 'string']),
    );
  });
});

function formOf(parts: readonly (readonly [string, string | Blob, string?])[]): FormData {
  const form = new FormData();
  for (const [name, value, file] of parts) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, value, file);
  }
  return form;
}

const upload = (id: string, ...parts: Parameters<typeof formOf>[0]): Promise<Answer> =>
  send('POST', `/${id}/artifacts`, { body: formOf(parts) });

/** A form as somebody writes it who does not mean well. */
function rawForm(
  disposition: string,
  content = 'x',
  end = '\r\n--b--\r\n',
): { body: string; headers: Record<string, string> } {
  const part = `--b\r\nContent-Disposition: form-data; ${disposition}\r\nContent-Type: text/plain\r\n\r\n${content}`;
  return { body: part + end, headers: { 'content-type': 'multipart/form-data; boundary=b' } };
}

describe('files', () => {
  it('come in either order of their parts, and reach the run as parts of its input', async () => {
    const id = await create('Read these.', 'teller');
    const text = new Blob(['first file'], { type: 'text/plain' });
    const one = await upload(id, ['file', text, 'a.txt'], ['relative_path', 'in/here']);
    const two = await upload(id, ['relative_path', 'b'], ['file', new Blob([new Uint8Array([0, 255])]), 'blob']);
    const three = await upload(id, ['file', new Blob([]), 'empty']);
    expect([one.body, two.body, three.body]).toEqual([
      { artifact_id: expect.any(String), agent_created: false, file_name: 'a.txt', relative_path: 'in/here' },
      { artifact_id: expect.any(String), agent_created: false, file_name: 'blob', relative_path: 'b' },
      { artifact_id: expect.any(String), agent_created: false, file_name: 'empty', relative_path: null },
    ]);
    expect((await get(`/${id}`)).body['artifacts']).toEqual([one.body, two.body, three.body]);
    const [last] = await drive(id);
    const { input, files } = last!.additional_output['data'] as { input: unknown; files: Body[] };
    const ids = [one, two, three].map(({ body }) => body['artifact_id']);
    expect(input).toEqual([
      { type: 'text', text: 'Read these.' },
      ...ids.map((artifact_id) => ({ type: 'file', artifact_id })),
    ]);
    expect(files).toMatchObject([
      { index: 1, name: 'a.txt', size: 10, mediaType: 'text/plain' },
      { index: 2, name: 'blob', size: 2 },
      { index: 3, name: 'empty', size: 0 },
    ]);
    expect((await get(`/${id}`)).body['input']).toBe('Read these.');
  });

  it('come back to the byte, as an attachment that nothing is guessed of', async () => {
    const id = await create('x');
    const bytes = Uint8Array.from({ length: 3_000 }, (_, n) => n % 256);
    const { body } = await upload(id, ['file', new Blob([bytes]), 'dätä 1.bin']);
    const link = `${url}/ap/v1/agent/tasks/${id}/artifacts/${String(body['artifact_id'])}`;
    const response = await fetch(link, { headers: { authorization: `Bearer ${ADMIN_KEY}` } });
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    const header = (name: string): string | null => response.headers.get(name);
    expect([header('content-type'), header('x-content-type-options')]).toEqual(['application/octet-stream', 'nosniff']);
    expect([body['file_name'], header('content-disposition')?.startsWith('attachment; filename=')]).toEqual([
      'dätä 1.bin',
      true,
    ]);
  });

  it('of a run are artifacts of the task and of its step', async () => {
    const id = await create([{ write: { name: 'site/index.html', text: '<p>' } }, { result: 'x' }]);
    const [last] = await drive(id);
    const made = {
      artifact_id: expect.any(String),
      agent_created: true,
      file_name: 'index.html',
      relative_path: 'site/index.html',
    };
    expect(last!['artifacts']).toEqual([made]);
    expect((await get(`/${id}/artifacts`)).body).toMatchObject({ artifacts: [made], pagination: { total_items: 1 } });
    const [artifact] = last!['artifacts'] as { artifact_id: string }[];
    expect((await send<string>('GET', `/${id}/artifacts/${artifact!.artifact_id}`)).body).toBe('<p>');
  });

  it.each([
    ['../../x', 'x'],
    ['/etc/x', 'x'],
    ['..\\\\x', 'x'],
    ['C:\\\\x', 'x'],
  ])('are named without the folders of %s', async (filename, name) => {
    const id = await create('x');
    const { status, body } = await send('POST', `/${id}/artifacts`, rawForm(`name="file"; filename="${filename}"`));
    expect([status, body['file_name'], body['relative_path']]).toEqual([200, name, null]);
  });

  const file = ['file', new Blob(['x']), 'a'] as const;
  it.each([
    ['two paths', [file, ['relative_path', 'a'], ['relative_path', 'b']], 422],
    ['too many fields', [...Array.from({ length: 20 }, (): [string, string] => ['x', 'y']), file], 422],
    ['a path that leads up', [file, ['relative_path', 'a/../../b']], 422],
    ['an absolute path', [['relative_path', '/etc'], file], 422],
    ['a path of a drive', [['relative_path', 'c:x'], file], 422],
    ['a path with backslashes', [file, ['relative_path', 'a\\b']], 422],
    ['a path that is too long', [file, ['relative_path', 'x'.repeat(2_000)]], 422],
    ['no file', [['relative_path', 'a']], 422],
    ['two files', [file, file], 422],
    ['a file of another name', [['other', new Blob(['x']), 'a']], 422],
    ['too many bytes', [['file', new Blob(['x'.repeat(MAX_UPLOAD_BYTES + 1)]), 'a']], 413],
  ] as const)('are refused with %s, and nothing is kept', async (_, parts, status) => {
    const id = await create('x');
    const answer = await upload(id, ...parts);
    expect([answer.status, typeof answer.body['message']]).toEqual([status, 'string']);
    expect((await get(`/${id}`)).body['artifacts']).toEqual([]);
  });

  it.each([
    ['no boundary', { body: 'x', headers: { 'content-type': 'multipart/form-data' } }, 422],
    ['no form', { body: '{}', headers: JSON_TYPE }, 415],
    ['no body', {}, 415],
    ['a form that breaks off', rawForm('name="file"; filename="a"', 'x', ''), 422],
    ['a control character in the name', rawForm('name="file"; filename="a\u0001b"'), 422],
    ['a file without a name', rawForm('name="file"'), 422],
  ])('are refused with %s', async (_, asked, status) => {
    const id = await create('x');
    const answer = await send('POST', `/${id}/artifacts`, asked);
    expect([answer.status, typeof answer.body['message']]).toEqual([status, 'string']);
    expect((await get(`/${id}`)).body['artifacts']).toEqual([]);
  });

  it('are refused by an agent that takes none, and by a task that has ended', async () => {
    const [closed, ended] = [await create('x', 'supervised'), await create('x')];
    await drive(ended);
    const answers = [await upload(closed, file), await upload(ended, file)];
    expect(answers.map(({ status, body }) => [status, body['code']])).toEqual([
      [422, 'unsupported_input'],
      [409, 'not_waiting'],
    ]);
  });
});

describe('a client', () => {
  it('may send a body with a GET, and goes on with the same connection', async () => {
    const id = await create('x');
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = [];
    for (let round = 0; round < 3; round += 1) {
      ports.push(
        await new Promise<unknown>((resolve, reject) => {
          const headers = { authorization: `Bearer ${ADMIN_KEY}`, ...JSON_TYPE, 'content-length': '13' };
          const sent = request(`${url}/ap/v1/agent/tasks/${id}`, { agent, headers, method: 'GET' }, (response) => {
            const { localPort } = response.socket;
            response.resume().on('end', () => resolve([response.statusCode, localPort]));
          });
          sent.on('error', reject).end('{"input":"x"}');
        }),
      );
    }
    agent.destroy();
    expect(ports).toEqual([ports[0], ports[0], ports[0]]);
    expect((ports[0] as number[])[0]).toBe(200);
  });
});
