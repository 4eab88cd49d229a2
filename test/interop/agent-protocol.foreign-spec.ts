import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_KEY, Installation } from '../support/installation.js';
import { testRedisUrl } from '../support/redis.js';

const run = promisify(execFile);
const CLIENT = 'agent-protocol-client==1.1.0';
const PROGRAM = path.resolve('test/interop/agent-protocol.client.py');

const folder = mkdtempSync(path.join(tmpdir(), 'switchyard-agent-protocol-'));
const python = path.join(folder, 'venv', 'bin', 'python');

/** An environment of its own with the client in it; false where there is no Python, or nowhere to have the client from. */
async function prepare(): Promise<boolean> {
  try {
    await run('python3', ['-m', 'venv', path.join(folder, 'venv')]);
    await run(python, ['-m', 'pip', '--quiet', '--disable-pip-version-check', 'install', CLIENT]);
    return true;
  } catch (error) {
    const why = String(error).split('\n', 1)[0];
    process.stderr.write(
      `The Python client of Agent Protocol is not run: it needs python3 with venv, and ${CLIENT} from PyPI (${why})\n`,
    );
    return false;
  }
}

const whenThere = (await prepare()) ? describe : describe.skip;

let database: TestDatabase;
let installation: Installation;
let seen: Record<string, unknown>;

whenThere('the Python client of Agent Protocol', () => {
  beforeAll(async () => {
    database = await createDatabase();
    installation = await Installation.start({
      databaseUrl: database.url,
      redisUrl: testRedisUrl(),
      gateways: 1,
      runtimes: 1,
      env: { AGENTS_FILE: path.resolve('test/interop/agents.yaml') },
    });
    const file = path.join(folder, 'given.txt');
    writeFileSync(file, 'given');
    const env = { ...process.env, KEY: ADMIN_KEY };
    const { stdout } = await run(python, [PROGRAM, installation.gateways[0]!.url, file], { env });
    seen = JSON.parse(stdout) as Record<string, unknown>;
  }, 180_000);

  it('creates a task, and is told what it was created with', () => {
    const asked = { input: expect.stringContaining('plan'), additional_input: { n: 1 }, artifacts: [] };
    expect(seen['created']).toMatchObject(asked);
    expect(seen['task']).toMatchObject({ ...asked, artifacts: [{ file_name: 'made.txt', agent_created: true }] });
    expect((seen['tasks'] as string[])[0]).toBe(seen['held']);
  });

  it('executes its steps to the last one, which has the answer', () => {
    expect(seen['steps']).toMatchObject([
      { name: 'plan', status: 'completed', is_last: false },
      { name: 'task', status: 'completed', is_last: true, output: 'done', additional_output: { state: 'succeeded' } },
    ]);
    expect(seen['step']).toEqual((seen['steps'] as unknown[])[0]);
    expect(seen['listed']).toMatchObject({
      pagination: { total_items: 2, total_pages: 2, current_page: 1, page_size: 1 },
    });
  });

  it('gets what the task made, and gives it a file', () => {
    expect([seen['content'], seen['again']]).toEqual(['made', 'given']);
    expect(seen['uploaded']).toMatchObject({ file_name: 'given.txt', relative_path: 'in', agent_created: false });
  });

  it('is told of a task that is not there', () => {
    expect(seen['missing']).toEqual([404, 'There is no such task.']);
  });
});

afterAll(async () => {
  await installation?.stop();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});
