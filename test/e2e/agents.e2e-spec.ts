import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { type AgentDeclaration, chooseBackend, pointOf, type Route, weightSeed } from '#lib/domain';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation } from '../support/installation.js';
import { createKeys } from '../support/keys.js';
import { testRedisUrl } from '../support/redis.js';
import { until } from '../support/until.js';

jest.setTimeout(120_000);

const ROOT = path.resolve(import.meta.dirname, '../..');
const AGENT = '/v1/agents/text-analyst';
const TEXT = 'The new release is fast and the support team was wonderful. We like it very much.';

type Answer = Awaited<ReturnType<typeof call>>;
const scripted = (result: string, waitMs: number, weight = 1) => ({
  runner: 'scripted',
  options: { script: [{ wait_ms: waitMs }, { result }] },
  weight,
});

let database: TestDatabase;
let sql: pg.Client;
let installation: Installation;
let folder: string;
let keys: Record<'operator' | 'ann' | 'stranger', string>;

const gateway = (n: number): string => installation.gateways[n % 2]!.url;
const change = (method: 'PUT' | 'PATCH', place: string, body: unknown, { n = 0, headers = {} } = {}): Promise<Answer> =>
  call(`${gateway(n)}${place}`, { method, body, headers, key: keys.operator });
const submit = (n: number, body: object, key = keys.ann): Promise<Answer> =>
  call(`${gateway(n)}/v1/tasks`, { key, body: { agent_id: 'text-analyst', input: TEXT, ...body } });
const ended = (id: string, n = 0, key = keys.ann): Promise<Answer> =>
  call(`${gateway(n)}/v1/tasks/${id}/wait?timeout_seconds=60`, { key });

/** Changes an agent, and resolves when every gateway knows. */
async function everywhere(method: 'PUT' | 'PATCH', place: string, body: unknown): Promise<Answer> {
  const answer = await change(method, place, body);
  expect([200, 201]).toContain(answer.status);
  const etag = answer.headers.get('etag');
  for (const { url } of installation.gateways) {
    await until(async () => (await call(`${url}${place}`, { key: keys.operator })).headers.get('etag') === etag);
  }
  return answer;
}

beforeAll(async () => {
  database = await createDatabase();
  keys = await createKeys(database.url, {
    operator: { principal: 'olga' },
    ann: { principal: 'ann', scopes: ['tasks:submit', 'tasks:read', 'tasks:decide', 'tasks:cancel', 'agents:read'] },
    stranger: { tenant: 'other', principal: 'sam', scopes: ['tasks:submit', 'tasks:read', 'agents:read'] },
  });
  sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
  await sql.query('set search_path to switchyard');
  folder = mkdtempSync(path.join(tmpdir(), 'agents-'));
  const file = path.join(folder, 'agents.yaml');
  copyFileSync(path.join(ROOT, 'agents.yaml'), file);
  const env = { AGENTS_FILE: file };
  const redisUrl = testRedisUrl();
  installation = await Installation.start({ databaseUrl: database.url, redisUrl, gateways: 2, runtimes: 2, env });
});

afterAll(async () => {
  await installation?.stop();
  await sql?.end();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

interface Seen {
  readonly id: string;
  readonly status: number;
  /** The setting all gateways had before and after the task was submitted; undefined while it changed. */
  readonly setting: string | undefined;
  readonly snapshot: Record<string, unknown>;
}

/** Clients that submit to one gateway and wait at the other, one task after the other. */
class Load {
  readonly seen: Seen[] = [];
  setting: string | undefined;
  private submitted = 0;
  private isOver = false;
  private readonly clients: Promise<void>[];

  constructor(clients: number) {
    this.clients = Array.from({ length: clients }, () => this.client());
  }

  countOf(setting: string): number {
    return this.seen.filter((one) => one.setting === setting).length;
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.clients);
  }

  private async client(): Promise<void> {
    while (!this.isOver) {
      const n = (this.submitted += 1);
      const before = this.setting;
      const { status, body } = await submit(n, { task_id: `load-${n}` });
      const setting = before === this.setting ? before : undefined;
      const id = String(body['task_id']);
      const { body: snapshot } = await ended(id, n + 1);
      this.seen.push({ id, status, setting, snapshot });
    }
  }
}

const textOf = ({ snapshot }: Seen): string => (snapshot['result'] as { text: string }).text;
const versionOf = ({ snapshot }: Seen): string => (snapshot['backend'] as { version: string }).version;

/** What the weights say of a task without a session. */
function expectedOf(route: Route, taskId: string): string {
  const agent = { id: 'text-analyst' } as AgentDeclaration;
  const seed = weightSeed({ agent, route, routeIndex: 0 }, { tenant: 'default', user: 'ann', taskId });
  const backend = chooseBackend(route, pointOf(createHash('sha256').update(seed).digest()));
  return (backend.options['script'] as [unknown, { result: string }])[1].result;
}

describe('each bundled agent', () => {
  const FILE = { type: 'file', media_type: 'text/plain', data: Buffer.from(TEXT).toString('base64') };
  const INPUTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    nlp_analysis: { text: TEXT, data: { text: TEXT }, file: [FILE] },
    web_demo: { text: 'a cat board with name', data: { request: 'a cat board with name' } },
  };

  it('takes the types and the modes of input it promises, and tells no event it does not', async () => {
    const { agents } = (await call(`${gateway(0)}/v1/agents`, { key: keys.ann })).body as {
      agents: { agent_id: string; types: string[] }[];
    };
    const typed = agents.filter(({ types }) => types.length > 0);
    expect(typed.map(({ agent_id }) => agent_id)).toEqual(['site-builder', 'text-analyst']);
    for (const { agent_id } of typed) {
      const { body } = await call(`${gateway(1)}/v1/agents/${agent_id}/capabilities`, { key: keys.ann });
      const can = body as { task_types: string[]; input_modes: string[]; event_types: string[]; tools: string[] };
      const called = new Set<string>();
      for (const [type, mode] of can.task_types.flatMap((each) =>
        can.input_modes.map((mode) => [each, mode] as const),
      )) {
        const context = { detail: 'verbose' };
        const made = await submit(0, { agent_id: undefined, type, input: INPUTS[type]![mode], context });
        const id = String(made.body['task_id']);
        expect([(await ended(id)).body['agent_id'], (await ended(id)).body['state']]).toEqual([agent_id, 'succeeded']);
        const { events } = (
          await call(`${gateway(1)}/v1/tasks/${id}/events?limit=500`, {
            key: keys.ann,
            headers: { accept: 'application/json' },
          })
        ).body as { events: { event_type: string; payload: { tool_name?: string } }[] };
        const unpromised = events.map(({ event_type }) => event_type).filter((told) => !can.event_types.includes(told));
        expect([id, unpromised]).toEqual([id, []]);
        for (const { event_type, payload } of events) if (event_type === 'tool.invoked') called.add(payload.tool_name!);
      }
      expect([...called].sort()).toEqual([...can.tools].sort());
    }
  });
});

describe('text-analyst', () => {
  it('is swapped from one backend to another and then to a canary under load, and no caller notices', async () => {
    const load = new Load(6);
    const settle = async (setting: string, backends: readonly object[], tasks: number): Promise<Answer> => {
      load.setting = undefined;
      const answer = await everywhere('PATCH', AGENT, { routes: [{ backends }] });
      load.setting = setting;
      await until(() => load.countOf(setting) >= tasks, { timeoutMs: 60_000 });
      return answer;
    };
    load.setting = 'dialogue';
    await until(() => load.countOf('dialogue') >= 6, { timeoutMs: 60_000 });
    await settle('slow', [scripted('slow', 1_500)], 6);
    const swapped = await settle('quick', [scripted('quick', 10)], 12);
    const canary = [scripted('quick', 10, 80), scripted('canary', 10, 20)];
    await settle('canary', canary, 60);
    await load.stop();

    expect(load.seen.filter(({ status }) => status !== 202)).toEqual([]);
    expect(load.seen.filter(({ snapshot }) => snapshot['state'] !== 'succeeded')).toEqual([]);
    const of = (setting: string): Seen[] => load.seen.filter((one) => one.setting === setting);
    const runners = new Set(of('dialogue').map(({ snapshot }) => (snapshot['backend'] as { runner: string }).runner));
    expect(runners).toEqual(new Set(['dialogue']));
    expect(new Set(of('slow').map(textOf))).toEqual(new Set(['slow']));
    expect(new Set(of('quick').map(textOf))).toEqual(new Set(['quick']));

    // Tasks that were going on when the backend was swapped ended where they had begun.
    const swappedAt = String(swapped.body['updated_at']);
    const inFlight = of('slow').filter(({ snapshot }) => String(snapshot['finished_at']) > swappedAt);
    expect(inFlight.length).toBeGreaterThan(0);
    expect(new Set(load.seen.filter((one) => textOf(one) === 'slow').map(versionOf)).size).toBe(1);

    // Each task of the canary went where its hash says, a fifth of them to the new backend.
    const chosen = of('canary').map((one) => [one.id, textOf(one)]);
    expect(chosen).toEqual(chosen.map(([id]) => [id, expectedOf({ backends: canary }, id!)]));
    const share = chosen.filter(([, text]) => text === 'canary').length / chosen.length;
    expect(share).toBeGreaterThan(0.02);
    expect(share).toBeLessThan(0.5);

    // The rows count as the callers do: per backend, and no task more.
    const tally = new Map<string, number>();
    for (const one of load.seen) tally.set(versionOf(one), (tally.get(versionOf(one)) ?? 0) + 1);
    const { rows } = await sql.query<{ version: string; n: number }>(
      `select backend_version_id as version, count(*)::int as n from tasks where task_id like 'load-%' group by 1`,
    );
    expect(new Map(rows.map(({ version, n }) => [version, n]))).toEqual(tally);
  });

  it('keeps a session on its backend while a canary takes the new ones', async () => {
    await everywhere('PATCH', AGENT, { routes: [{ backends: [scripted('old', 0)] }] });
    const inSession = async (session_id: string, n: number): Promise<unknown> => {
      const { body } = await submit(n, { session_id });
      return ((await ended(String(body['task_id']))).body['result'] as { text: string }).text;
    };
    expect(await inSession('began before', 0)).toBe('old');
    await everywhere('PATCH', AGENT, { routes: [{ backends: [scripted('old', 0, 0), scripted('new', 0, 100)] }] });
    expect([await inSession('began before', 0), await inSession('began before', 1)]).toEqual(['old', 'old']);
    expect([await inSession('begins now', 0), await inSession('begins now', 1)]).toEqual(['new', 'new']);
  });

  it('keeps a task on its version of the backend through a retry and a pause', async () => {
    const question = { pause: [{ tool_call_id: 'q', kind: 'question', prompt: 'Go on?' }] };
    const script = [{ run: 1, throw: { kind: 'unavailable' } }, { wait_ms: 300 }, question, { result: 'as declared' }];
    const policy = { retries: { first_delay_seconds: 1 } };
    await everywhere('PATCH', AGENT, { policy, routes: [{ backends: [{ runner: 'scripted', options: { script } }] }] });
    const { body } = await submit(0, { task_id: 'pinned' });
    expect(body['task_id']).toBe('pinned');
    const read = async (): Promise<Record<string, unknown>> =>
      (await call(`${gateway(1)}/v1/tasks/pinned`, { key: keys.ann })).body;
    const { version } = (await read())['backend'] as { version: string };
    await everywhere('PATCH', AGENT, { policy: null, routes: [{ backends: [scripted('another', 0)] }] });
    await until(async () => (await read())['state'] === 'waiting_for_input', { timeoutMs: 30_000 });
    await everywhere('PATCH', AGENT, { routes: [{ backends: [scripted('a third', 0)] }] });
    expect((await call(`${gateway(1)}/v1/tasks/pinned/resume`, { key: keys.ann, body: { input: 'yes' } })).status).toBe(
      202,
    );
    const { body: task } = await ended('pinned');
    expect([task['state'], task['run_no'], task['backend'], task['result']]).toMatchObject([
      'succeeded',
      3,
      { runner: 'scripted', version },
      { text: 'as declared' },
    ]);
  });

  it('takes no new tasks while it is disabled, ends those it has and answers repeats: it drains', async () => {
    await everywhere('PATCH', AGENT, { routes: [{ backends: [scripted('done', 1_500)] }] });
    expect((await submit(0, { task_id: 'last' })).status).toBe(202);
    const closed = await everywhere('PATCH', AGENT, { enabled: false });
    expect([closed.body['enabled'], closed.body['active_tasks']]).toEqual([false, 1]);
    for (const n of [0, 1]) {
      const refused = await submit(n, { task_id: 'late' });
      expect([refused.status, refused.body['code']]).toEqual([422, 'agent_disabled']);
    }
    expect((await submit(1, { task_id: 'last' })).body['task_id']).toBe('last');
    const active = async (): Promise<unknown> =>
      (await call(`${gateway(1)}${AGENT}`, { key: keys.operator })).body['active_tasks'];
    await until(async () => (await active()) === 0);
    expect((await ended('last')).body['state']).toBe('succeeded');
    expect(Object.keys((await call(`${gateway(0)}${AGENT}`, { key: keys.ann })).body)).not.toContain('active_tasks');
    await everywhere('PATCH', AGENT, { enabled: null });
    expect((await submit(1, { task_id: 'late' })).status).toBe(202);
    await ended('late');
  });
});

describe('agents', () => {
  const backends = [scripted('ok', 0)];
  const declaration = { description: 'Ours.', types: ['ours'], routes: [{ backends }] };

  it('are put new and in place, with who did it in the record of the same transaction', async () => {
    const made = await change('PUT', '/v1/agents/ours', declaration, { headers: { 'if-none-match': '*' } });
    expect([made.status, made.headers.get('location'), made.body]).toEqual([
      201,
      '/v1/agents/ours',
      {
        agent_id: 'ours',
        name: 'ours',
        description: 'Ours.',
        enabled: true,
        default: false,
        types: ['ours'],
        input_modes: ['text'],
        tools: [],
        updated_at: expect.any(String),
        active_tasks: 0,
        declaration: { id: 'ours', ...declaration },
      },
    ]);
    const again = await change('PUT', '/v1/agents/ours', { ...declaration, name: 'Our agent' });
    expect([again.status, again.body['name']]).toEqual([200, 'Our agent']);
    const { rows } = await sql.query<{ action: string; principal: string; details: string; request_id: string }>(
      `select action, principal, details, request_id from audit_records where target = 'ours' order by id`,
    );
    const [first, second] = rows.map(({ details }) => JSON.parse(details) as { old: string | null; new: string });
    expect([first!.old, second!.old, rows.map(({ action, principal }) => [action, principal])]).toEqual([
      null,
      first!.new,
      [
        ['agent.put', 'olga'],
        ['agent.put', 'olga'],
      ],
    ]);
    expect(rows.map((row) => row.request_id)).toEqual([made, again].map(({ headers }) => headers.get('x-request-id')));
  });

  it('are changed by one of many who read the same, whichever gateway they ask', async () => {
    const etag = (await change('PATCH', '/v1/agents/ours', {})).headers.get('etag')!;
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        change('PATCH', '/v1/agents/ours', { name: `N${n}` }, { n, headers: { 'if-match': etag } }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412, 412, 412, 412, 412]);
    const refused = answers.find(({ status }) => status === 412);
    expect(refused!.body['code']).toBe('precondition_failed');
    const { rows } = await sql.query(`select version from agents where id = 'ours'`);
    expect(`"${rows[0].version}"`).toBe(answers.find(({ status }) => status === 200)!.headers.get('etag'));
  });

  it.each([
    ['/routes/0/backends/0/runner', { routes: [{ backends: [{ runner: 'unheard-of' }] }] }],
    [
      '/routes/0/backends/0/options/colour',
      { routes: [{ backends: [{ runner: 'dialogue', options: { colour: 1 } }] }] },
    ],
    ['/types/0', { types: ['nlp_analysis'] }],
    ['/policy/max_runs', { policy: { max_runs: 0 } }],
  ])('are not changed to what could never run: %s', async (place, patch) => {
    const count = 'select count(*)::int as n from audit_records';
    const before = (await sql.query(count)).rows;
    const answer = await change('PATCH', '/v1/agents/ours', patch);
    expect([answer.status, answer.body['code'], answer.body['errors']]).toMatchObject([
      400,
      'invalid_request',
      [{ path: place }],
    ]);
    expect((await sql.query(count)).rows).toEqual(before);
  });

  it('cannot both become the default when two operators want it at once', async () => {
    const wish = (id: string, n: number): Promise<Answer> =>
      change('PUT', `/v1/agents/${id}`, { description: 'd', default: true, routes: [{ backends }] }, { n });
    const answers = await Promise.all([wish('one', 0), wish('two', 1)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400]);
    const refused = answers.find(({ status }) => status === 400)!;
    expect(refused.body['errors']).toMatchObject([{ path: '/default' }]);
  });

  it('of other tenants are unknown, to submit to and to read', async () => {
    await everywhere('PATCH', '/v1/agents/ours', { tenants: ['default'] });
    const submitted = await submit(0, { agent_id: 'ours' }, keys.stranger);
    const unknown = await submit(0, { agent_id: 'nobody' }, keys.stranger);
    expect([submitted.status, submitted.body]).toEqual([422, unknown.body]);
    expect((await call(`${gateway(1)}/v1/agents/ours`, { key: keys.stranger })).status).toBe(404);
    expect((await submit(1, { agent_id: 'ours', task_id: 'mine' })).status).toBe(202);
    expect((await ended('mine')).body['state']).toBe('succeeded');
  });

  it('stay as they were changed when a gateway starts, until the file has another content', async () => {
    const names = async (n: number): Promise<unknown> =>
      ((await call(`${installation.gateways[n]!.url}/v1/agents`, { key: keys.operator })).body['agents'] as []).map(
        ({ agent_id, enabled }) => [agent_id, enabled],
      );
    await everywhere('PATCH', AGENT, { enabled: false });
    const before = await names(0);
    expect(before).toContainEqual(['ours', true]);
    await installation.addGateway();
    expect(await names(2)).toEqual(before);
    const file = path.join(folder, 'agents.yaml');
    writeFileSync(file, `${readFileSync(file, 'utf8')}\n# Changed.\n`);
    await installation.addGateway();
    const declared = [
      ['site-builder', true],
      ['supervised-analyst', true],
      ['supervised-builder', true],
      ['text-analyst', true],
    ];
    expect(await names(3)).toEqual(declared);
    await until(async () => JSON.stringify(await names(0)) === JSON.stringify(declared));
  });
});
