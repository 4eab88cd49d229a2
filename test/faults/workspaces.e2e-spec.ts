import { execFile } from 'node:child_process';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { call, Installation, type Member } from '../support/installation.js';
import { until } from '../support/until.js';

jest.setTimeout(120_000);

interface Artifact {
  readonly kind: string;
  readonly name: string;
  readonly media_type: string;
  readonly download_url: string;
}

let database: TestDatabase;
let installation: Installation;
let storage: string;
let here: string;

beforeAll(async () => {
  database = await createDatabase();
  storage = await mkdtemp(path.join(tmpdir(), 'switchyard-workspaces-'));
  const env = { STORAGE_DIR: storage, LEASE_SECONDS: '10', WORKSPACE_MAX_BYTES: '100000' };
  installation = await Installation.start({ databaseUrl: database.url, gateways: 1, runtimes: 0, env });
  here = installation.gateways[0]!.url;
});

afterAll(async () => {
  await installation?.stop();
  await rm(storage, { recursive: true, force: true });
  await database?.drop();
});

/** A runtime on a machine of its own: nothing but storage and database is shared. */
async function addRuntime(id: string): Promise<Member> {
  return installation.addRuntime({
    RUNTIME_ID: id,
    DATA_DIR: path.join(storage, '..', `${path.basename(storage)}-${id}`),
  });
}

const submit = (task_id: string, script: readonly object[]): ReturnType<typeof call> =>
  call(`${here}/v1/tasks`, { body: { task_id, agent_id: 'scripted', input: { script } } });
const task = async (id: string): Promise<Record<string, unknown>> => (await call(`${here}/v1/tasks/${id}`)).body;
const artifactsOf = async (id: string): Promise<Artifact[]> =>
  (await call(`${here}/v1/tasks/${id}/artifacts`)).body['artifacts'] as Artifact[];
const typesOf = async (id: string): Promise<string[]> => {
  const { body } = await call(`${here}/v1/tasks/${id}/events?limit=500`, { headers: { accept: 'application/json' } });
  return (body['events'] as { event_type: string }[]).map(({ event_type }) => event_type);
};
const reaches = (id: string, state: string): Promise<unknown> =>
  until(async () => (await task(id))['state'] === state, { timeoutMs: 60_000, what: `${id} to be ${state}` });

const savedWorkspaces = (): Promise<number> => rowsOf('select from switchyard.workspaces');

async function rowsOf(query: string): Promise<number> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query(query)).rowCount ?? 0;
  } finally {
    await client.end();
  }
}

const write = (name: string, text: string): object => ({ write: { name, text } });

describe('what a task has in its workspace', () => {
  it('is found by the run that follows a killed one on another runtime, and nothing is kept twice', async () => {
    const first = await addRuntime('first');
    await submit('killed', [
      write('notes/a.txt', 'one'),
      { checkpoint: {} },
      { artifact: { name: 'report.txt', text: 'the report' } },
      { run: 1, wait_ms: 60_000 },
      { read: 'notes/a.txt' },
    ]);
    await until(async () => (await typesOf('killed')).includes('artifact.created'), { what: 'the report' });
    await first.end('SIGKILL');
    const second = await addRuntime('second');
    await reaches('killed', 'succeeded');
    expect((await task('killed'))['result']).toMatchObject({ text: 'one' });
    expect((await artifactsOf('killed')).map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'produced report.txt',
      'produced notes/a.txt',
    ]);
    expect((await typesOf('killed')).filter((type) => type === 'artifact.created')).toHaveLength(2);
    expect(await savedWorkspaces()).toBe(0);

    await submit('handed', [write('a.txt', 'handed'), { run: 1, wait_ms: 60_000 }, { read: 'a.txt' }]);
    await reaches('handed', 'running');
    await until(async () => (await typesOf('handed')).includes('task.started'), {});
    await second.end('SIGTERM');
    expect(await savedWorkspaces()).toBe(1);
    const third = await addRuntime('third');
    await reaches('handed', 'succeeded');
    expect((await task('handed'))['result']).toMatchObject({ text: 'handed' });
    await third.end('SIGTERM');
  });

  it('is kept by a later run when storage was away', async () => {
    const runtime = await addRuntime('outage');
    await rename(storage, `${storage}-away`);
    await writeFile(storage, 'no folder');
    await submit('outage', [write('a.txt', 'kept'), { artifact: { name: 'a.txt', text: 'kept' } }, { result: 'done' }]);
    const retries = 'select from switchyard.outbox where run_no = 2';
    await until(async () => (await rowsOf(retries)) === 1, { timeoutMs: 20_000, what: 'the run to be given up' });
    await rm(storage);
    await rename(`${storage}-away`, storage);
    await reaches('outage', 'succeeded');
    expect((await artifactsOf('outage')).map(({ name }) => name)).toEqual(['a.txt']);
    expect((await typesOf('outage')).filter((type) => type === 'task.retrying')).toHaveLength(1);
    await runtime.end('SIGTERM');
  });

  it('is an archive when the task is cancelled while it waits', async () => {
    await addRuntime('fourth');
    await submit('waiting', [write('logs/run.log', 'so far'), { pause: [{ tool_call_id: 'q', kind: 'question' }] }]);
    await reaches('waiting', 'waiting_for_input');
    expect(await savedWorkspaces()).toBe(1);
    await call(`${here}/v1/tasks/waiting/cancel`, { method: 'POST' });
    const [artifact, ...others] = await artifactsOf('waiting');
    expect([artifact, others]).toMatchObject([
      { kind: 'log', name: 'workspace.tar', media_type: 'application/x-tar' },
      [],
    ]);
    const file = path.join(storage, 'workspace.tar');
    await writeFile(file, Buffer.from(await (await fetch(artifact!.download_url)).arrayBuffer()));
    const { stdout } = await promisify(execFile)('tar', ['-xOf', file, 'logs/run.log']);
    expect(stdout).toBe('so far');
    expect(await savedWorkspaces()).toBe(0);
  });

  it('ends the task when it is more than it may be', async () => {
    await submit('large', [write('a.txt', 'x'.repeat(200_000)), { wait_ms: 60_000 }]);
    await reaches('large', 'failed');
    expect((await task('large'))['error']).toEqual({
      code: 'budget_exceeded',
      message: 'The workspace holds more than it may.',
    });
  });
});
