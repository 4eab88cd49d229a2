import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { freePort } from '../support/free-port.js';
import { until } from '../support/until.js';

const ADMIN_KEY = `swy_ops_${'s3cret'.repeat(7)}`;
jest.setTimeout(120_000);

/** From Ctrl-C to the last process gone. */
const STOP_MS = 10_000;

let dataDir: string;
let port: number;

interface Started {
  child: ChildProcess;
  printed: () => string;
  ended: Promise<number | null>;
}

const running: Started[] = [];

function start(variables: Record<string, string> = {}): Started {
  const env = { PATH: process.env.PATH, DATA_DIR: dataDir, PORT: String(port), ...variables };
  const child = spawn(process.execPath, ['scripts/start.mjs'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += String(chunk)));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const started = { child, printed: () => printed, ended };
  running.push(started);
  return started;
}

async function startReady(variables?: Record<string, string>): Promise<Started> {
  const started = start(variables);
  await until(
    () => {
      if (started.child.exitCode !== null) throw new Error(started.printed());
      return started.printed().includes('Ctrl-C stops everything');
    },
    { timeoutMs: 60_000, what: 'npm start to be ready' },
  );
  return started;
}

async function stop({ child, ended }: Started): Promise<number> {
  const startedMs = performance.now();
  child.kill('SIGINT');
  expect(await ended).toBe(0);
  return performance.now() - startedMs;
}

function servicePids(): number[] {
  return (JSON.parse(readFileSync(path.join(dataDir, 'start.json'), 'utf8')) as { services: number[] }).services;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A zombie in a container whose first process collects none is as dead as can be.
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'));
}

const databaseRuns = (): boolean => existsSync(path.join(dataDir, 'postgres/cluster/postmaster.pid'));

function submit(key: string, input: string, agent = 'text-analyst'): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/v1/tasks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ agent_id: agent, input }),
  });
}

beforeAll(async () => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'switchyard-start-'));
  chmodSync(dataDir, 0o755); // for root the database belongs to another user
  port = await freePort();
});

afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGTERM');
    await ended;
  }
});

afterAll(() => rmSync(dataDir, { recursive: true }));

describe('npm start', () => {
  let key: string;

  it('prints an address, a first key and a command that submits a task and watches it to its end', async () => {
    const started = await startReady();
    const [, address, submitted] =
      /curl -N (\S+) [\s\S]*-H "Authorization: Bearer (\S+)"/.exec(started.printed()) ?? [];
    const [, body = ''] = /-d '(.*)'/.exec(started.printed()) ?? [];
    key = submitted!;
    const stream = await fetch(address!, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'text/event-stream' },
      body,
    });
    expect(await stream.text()).toContain('event: task.succeeded');
    await stop(started);
    expect(databaseRuns()).toBe(false);
  });

  it('shows the key only once, keeps what was done, and stops within 10 s with a task running', async () => {
    const started = await startReady();
    expect(started.printed()).not.toContain(key);
    expect(started.printed()).toContain('$SWITCHYARD_KEY');
    const stream = await submit(key, 'A page for a bakery with a menu and an order form', 'site-builder');
    expect(stream.status).toBe(200);
    const pids = servicePids();
    expect(await stop(started)).toBeLessThan(STOP_MS);
    expect([...pids.filter(isAlive), databaseRuns()]).toEqual([false]);
    await stream.text().catch(() => undefined);
  });

  it('refuses a second start beside it, and starts a killed process again', async () => {
    const started = await startReady();
    const second = start();
    expect(await second.ended).toBe(1);
    expect(second.printed()).toContain(`already runs from ${dataDir} (process ${started.child.pid})`);
    const [, runtime] = servicePids();
    process.kill(runtime!, 'SIGKILL');
    await until(() => servicePids()[1] !== runtime, { timeoutMs: 10_000 });
    const stream = await submit(key, 'It works again, which is wonderful.');
    expect(await stream.text()).toContain('event: task.succeeded');
    await stop(started);
  });

  it('recovers after it was killed: what it left ends by itself, and the database is taken over', async () => {
    const killed = await startReady();
    const pids = servicePids();
    killed.child.kill('SIGKILL');
    await killed.ended;
    expect(databaseRuns()).toBe(true);
    const started = await startReady({ ADMIN_API_KEY: ADMIN_KEY });
    expect(pids.filter(isAlive)).toEqual([]);
    expect(started.printed()).toContain('found it running');
    expect(started.printed()).not.toContain(ADMIN_KEY);
    const list = await fetch(`http://127.0.0.1:${port}/v1/tasks`, {
      headers: { authorization: `Bearer ${ADMIN_KEY}` },
    });
    expect(list.status).toBe(200);
    await stop(started);
  });
});
