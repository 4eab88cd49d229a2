import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ownerClient } from '../support/aged-task.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation } from '../support/installation.js';
import { assertProjections } from '../support/projections.js';
import { until } from '../support/until.js';

jest.setTimeout(120_000);

type Body = Record<string, unknown>;

const DIGEST = expect.stringMatching(/^[0-9a-f]{64}$/);
const SHORT = { text: 'All is well.' };
const LONG = { text: 'The tram was late again, and nobody said why.' };

let database: TestDatabase;
let installation: Installation;
let owner: Awaited<ReturnType<typeof ownerClient>>;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'switchyard-policy-'));
  database = await createDatabase();
  owner = await ownerClient(database.url);
  installation = await Installation.start({
    databaseUrl: database.url,
    gateways: 1,
    runtimes: 1,
    env: { AGENTS_FILE: path.resolve('test/e2e/tool-policy.agents.yaml'), RUNTIME_ID: 'runtime-1' },
  });
});

afterAll(async () => {
  await installation?.stop();
  await owner?.end();
  await database?.drop();
  rmSync(folder, { recursive: true });
});

const url = (rest = ''): string => `${installation.gateways[0]!.url}/v1/tasks${rest}`;
const read = async (id: string, rest = ''): Promise<Body> => (await call(url(`/${id}${rest}`))).body;
const use = (name: string, args: unknown, id: string): Body => ({ tool: { name, args, id } });

async function submit(agent_id: string, input: unknown, more: Body = {}): Promise<string> {
  const answer = await call(url(), { body: { agent_id, input, ...more } });
  expect([answer.status, answer.body['code']]).toEqual([202, undefined]);
  return String(answer.body['task_id']);
}

async function toolEvents(id: string): Promise<[string, Body][]> {
  const { body } = await call(url(`/${id}/events?limit=500`), { headers: { accept: 'application/json' } });
  const events = body['events'] as { readonly event_type: string; readonly payload: Body }[];
  return events
    .filter(({ event_type }) => event_type.startsWith('tool.'))
    .map(({ event_type, payload }) => [event_type, payload]);
}

interface Record_ {
  readonly action: string;
  readonly target: string;
  readonly outcome: string;
  readonly principal: string;
  readonly key_id: string;
  readonly details: Body;
}

async function records(id: string): Promise<Record_[]> {
  const text = `select action, target, outcome, principal, key_id, details from audit_records
    where action like 'tool.%' and details::json->>'task_id' = $1
    order by details::json->>'tool_call_id', action`;
  const { rows } = await owner.query<Record_ & { readonly details: string }>(text, [id]);
  return rows.map((row) => ({ ...row, details: JSON.parse(row.details) as Body }));
}

describe('the policy of an agent', () => {
  it('decides by arguments, and each decision and each call is an event and a record', async () => {
    const script = [
      use('extract_key_phrases', SHORT, 'c1'),
      use('summarise', SHORT, 'c2'),
      use('summarise', { text: 'My Secret is out, tell all of them.' }, 'c3'),
      use('summarise', LONG, 'c4'),
      use('summarise', { txt: 'x' }, 'c5'),
      use('score_sentiment', { text: 'x'.repeat(300) }, 'c6'),
      use('rm', {}, 'c7'),
      { result: 'done' },
    ];
    const id = await submit('ruled', { script });
    expect(await read(id, '/wait?timeout_seconds=60')).toMatchObject({ state: 'succeeded' });
    const told = await toolEvents(id);
    const denied = told.flatMap(([type, { tool_call_id, code }]) =>
      type === 'tool.denied' ? [[tool_call_id, code]] : [],
    );
    expect(denied).toEqual([
      ['c1', 'denied_by_policy'],
      ['c3', 'denied_by_policy'],
      ['c4', 'not_approved'],
      ['c7', 'not_on_list'],
    ]);
    const failed = told
      .filter(([type]) => type === 'tool.failed')
      .map(([, { tool_call_id, error }]) => [tool_call_id, error]);
    expect(failed).toMatchObject([
      ['c5', { code: 'invalid_arguments', message: '/txt is not a known field.' }],
      ['c6', { code: 'invalid_arguments' }],
    ]);
    const [invoked] = told.filter(([type, { tool_call_id }]) => type === 'tool.invoked' && tool_call_id === 'c2');
    expect(invoked![1]).toMatchObject({ digest: DIGEST, policy_version: DIGEST });
    expect(told.find(([type]) => type === 'tool.completed')![1]).toMatchObject({ duration_ms: expect.any(Number) });

    const kept = await records(id);
    expect(kept.map(({ action, target, outcome, details }) => [action, target, outcome, details['code']])).toEqual([
      ['tool.call', 'builtin:extract_key_phrases', 'denied', 'denied_by_policy'],
      ['tool.call', 'builtin:summarise', 'allowed', undefined],
      ['tool.result', 'builtin:summarise', 'allowed', undefined],
      ['tool.call', 'builtin:summarise', 'denied', 'denied_by_policy'],
      ['tool.call', 'builtin:summarise', 'denied', 'not_approved'],
      ['tool.call', 'builtin:summarise', 'denied', 'invalid_arguments'],
      ['tool.call', 'builtin:score_sentiment', 'denied', 'too_large'],
      ['tool.call', 'unknown:rm', 'denied', 'not_on_list'],
    ]);
    const who = { task_id: id, run_no: 1, runtime_id: 'runtime-1', tool_call_id: 'c2' };
    expect(kept[1]).toMatchObject({ principal: 'admin', key_id: 'agent:ruled' });
    expect(kept[1]!.details).toMatchObject({
      ...who,
      arguments_digest: invoked![1]['digest'],
      arguments: JSON.stringify(SHORT),
      policy_version: invoked![1]['policy_version'],
      backend_version: expect.any(String),
      tool_version: DIGEST,
    });
    expect(kept[2]!.details).toMatchObject({ ...who, result: 'completed', duration_ms: expect.any(Number) });
  });

  it('cannot widen what the caller of a task denies', async () => {
    const context = { deny_rules: [{ tool_name: 'score_sentiment' }] };
    const id = await submit(
      'ruled',
      { script: [use('score_sentiment', SHORT, 'c1'), { result: 'done' }] },
      { context },
    );
    await read(id, '/wait?timeout_seconds=60');
    expect((await toolEvents(id)).at(-1)).toMatchObject(['tool.denied', { tool_call_id: 'c1', code: 'not_on_list' }]);
  });

  it('that cannot be evaluated allows nothing, and says so under its version', async () => {
    const script = [use('summarise', SHORT, 'c1'), { result: 'done' }];
    const fine = await submit('broken', { script });
    expect(await read(fine, '/wait?timeout_seconds=60')).toMatchObject({ state: 'succeeded' });
    expect((await toolEvents(fine)).map(([type]) => type)).toEqual(['tool.invoked', 'tool.completed']);
    // Nobody of ours can do this: not even the owner of the table, as long as its triggers fire.
    await owner.query('set session_replication_role = replica');
    await owner.query(`update backend_versions set policy = replace(policy, '"summarise":"allow"', '"summarise":"alow"')
      where agent_id = 'broken'`);
    const id = await submit('broken', { script });
    await read(id, '/wait?timeout_seconds=60');
    const [, [type, payload]] = (await toolEvents(id)) as [unknown, [string, Body]];
    expect([type, payload]).toEqual([
      'tool.denied',
      expect.objectContaining({ code: 'policy_unavailable', policy_version: DIGEST }),
    ]);
    const [, [, { policy_version }]] = [0, (await toolEvents(fine))[0]!];
    expect(payload['policy_version']).not.toBe(policy_version);
    expect(await records(id)).toMatchObject([{ outcome: 'denied', details: { code: 'policy_unavailable' } }]);
  });

  it('makes a dialogue ask for the calls it wants approved, and for no others', async () => {
    const id = await submit('careful', LONG.text);
    const task = await read(id, '/wait?timeout_seconds=60');
    expect(task).toMatchObject({
      state: 'waiting_for_input',
      pending_confirms: [{ tool_name: 'summarise', arguments: {} }],
    });
    const [asked] = task['pending_confirms'] as [Body];
    const decisions = [{ tool_call_id: asked['tool_call_id'], approved: true }];
    expect((await call(url(`/${id}/resume`), { body: { decisions } })).status).toBe(202);
    expect(await read(id, '/wait?timeout_seconds=60')).toMatchObject({ state: 'succeeded', run_no: 2 });
    const made = (await toolEvents(id)).filter(([type]) => type === 'tool.invoked').map(([, payload]) => payload);
    expect(made.map(({ tool_name, approved_by }) => [tool_name, approved_by])).toEqual([
      ['summarise', 'admin'],
      ['score_sentiment', undefined],
    ]);
    expect(made[0]).toMatchObject({
      digest: asked['digest'],
      approval: `${String(task['wait_id'])}/${String(asked['tool_call_id'])}`,
    });
    const [decision] = (await records(id)).filter(({ details }) => 'approved_by' in details);
    expect(decision).toMatchObject({ action: 'tool.call', outcome: 'allowed', details: { approved_by: 'admin' } });
  });
});

describe('a task with several calls out', () => {
  it('waits for those that are left when one has ended', async () => {
    const event = (type: string, id: string, more: Body = {}): Body => ({
      event: { type: `tool.${type}`, payload: { tool_call_id: id, tool_name: `tool_${id}`, ...more } },
    });
    const go = path.join(folder, 'go');
    const script = [
      ...['a', 'b', 'c'].map((id) => event('invoked', id)),
      event('completed', 'b'),
      event('failed', 'c', { error: { code: 'failed', message: 'no' } }),
      { until_file: go },
      event('completed', 'a'),
      { result: 'done' },
    ];
    const id = await submit('ruled', { script });
    await until(async () => (await toolEvents(id)).length === 5, { timeoutMs: 20_000, what: 'the calls' });
    expect(await read(id)).toMatchObject({ state: 'running', waiting_on: 'tool_a' });
    expect((await toolEvents(id)).slice(3).map(([, { waiting_on }]) => waiting_on)).toEqual(['tool_c', 'tool_a']);
    writeFileSync(go, '');
    expect(await read(id, '/wait?timeout_seconds=60')).toMatchObject({ state: 'succeeded', waiting_on: null });
    expect(await assertProjections(database.url)).toBeGreaterThan(0);
  });
});
