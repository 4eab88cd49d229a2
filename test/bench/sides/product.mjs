// The product: one gateway and one runtime, as an operator would start them.
import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { build } from '../../../scripts/build.mjs';
import { MIGRATE, runEntry } from '../../../scripts/entry.mjs';
import { freePort } from '../../../scripts/free-port.mjs';
import { VoidRound } from '../client.mjs';
import { createDatabase } from '../database.mjs';
import { heapBytes, memoryProbe, startProgram } from '../processes.mjs';

const root = path.resolve(import.meta.dirname, '../../..');
const READY_MS = 60_000;
/** How long a run is kept for a runtime that gives no sign of life. */
export const LEASE_MS = 10_000;
const KEY = `swy_bench_${randomBytes(24).toString('hex')}`;

const AUTHORIZATION = { authorization: `Bearer ${KEY}` };

// A task is `task.created`, `task.started`, the answer as a message and `task.succeeded`; a burst has events of its
// framework besides, which are never joined, and the start of that message.
const EVENTS = { task: 4, burst: 2_000 };
const frameworkEvents = {
  repeat: EVENTS.burst - 5,
  event: { type: 'agent.event', payload: { framework: 'bench', event: { step: 1 } } },
};
const BODIES = {
  task: JSON.stringify({ agent_id: 'bench', input: 'hello' }),
  burst: JSON.stringify({
    agent_id: 'bench',
    input: { script: [frameworkEvents, { result: 'done' }] },
    context: { detail: 'verbose' },
  }),
};
const entry = (app) => path.join(root, `dist/apps/${app}/src/main.js`);

async function answers(url) {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
  await response?.body?.cancel();
  return response?.status === 200;
}

/** Submits a task that plays a script and stores every event of it; answers its id. */
async function submitScript(port, script) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/tasks`, {
    method: 'POST',
    headers: { ...AUTHORIZATION, 'content-type': 'application/json' },
    body: JSON.stringify({ agent_id: 'bench', input: { script }, context: { detail: 'verbose' } }),
  });
  const text = await response.text();
  if (response.status !== 202) throw new VoidRound(`a task was answered ${response.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text).task_id;
}

async function untilReady({ ended }, url) {
  const deadlineMs = performance.now() + READY_MS;
  while (!(await Promise.race([answers(url), ended]))) {
    if (performance.now() > deadlineMs) throw new Error(`${url} is not ready within ${READY_MS / 1_000} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Without `redis` queue and bus live in Postgres. */
export async function startProduct(services, logs, { redis, profile }) {
  const nodeArgs = profile ? ['--cpu-prof', `--cpu-prof-dir=${path.join(logs, 'profiles')}`] : [];
  await build();
  const name = redis ? 'product' : 'product_postgres';
  const dataDir = path.join(logs, name);
  await rm(dataDir, { recursive: true, force: true });
  await mkdir(dataDir, { recursive: true });
  const url = await createDatabase(services, name);
  const port = await freePort();
  const env = {
    DATABASE_URL: url,
    MIGRATIONS_DATABASE_URL: url,
    REDIS_URL: redis?.url ?? '',
    HOST: '127.0.0.1',
    PORT: String(port),
    DATA_DIR: dataDir,
    ADMIN_API_KEY: KEY,
    LEASE_SECONDS: String(LEASE_MS / 1_000),
    AGENTS_FILE: path.join(root, 'test/bench/agents.yaml'),
    EXTRA_ADAPTERS: path.join(root, 'dist/test/support/scripted/index.js'),
  };
  await runEntry(MIGRATE, [], env);
  const probe = memoryProbe(logs, `${name}-gateway`);
  const start = (app, more = {}, args = nodeArgs) =>
    startProgram(logs, {
      name: `${name}-${app}`,
      file: entry(app),
      nodeArgs: args,
      cwd: root,
      env: { ...env, ...more },
    });
  const gateway = start('gateway', probe.env, [...nodeArgs, ...probe.nodeArgs]);
  await untilReady(gateway, `http://127.0.0.1:${port}/health/ready`);
  const addRuntime = async (more = {}) => {
    const healthPort = await freePort();
    const runtime = start('runtime', { ...more, HEALTH_PORT: String(healthPort) });
    await untilReady(runtime, `http://127.0.0.1:${healthPort}/health/ready`);
    return runtime;
  };
  const runtime = await addRuntime();
  return {
    name,
    databaseUrl: url,
    addRuntime,
    heapBytes: () => heapBytes(gateway.pid, probe),
    submit: (script) => submitScript(port, script),
    events: (taskId, afterSeq = 0) => ({
      port,
      path: `/v1/tasks/${taskId}/events`,
      headers: { ...AUTHORIZATION, 'last-event-id': String(afterSeq) },
    }),
    processes: {
      server: gateway.pid,
      worker: runtime.pid,
      postgres: services.postgres.pid,
      ...(redis && { redis: redis.pid }),
    },
    request: (kind) => ({
      port,
      path: '/v1/tasks',
      headers: AUTHORIZATION,
      body: BODIES[kind],
    }),
    expected: (kind) => ({
      count: EVENTS[kind],
      fits: (frame, index) => frame.startsWith(`id: ${index + 1}\n`),
    }),
  };
}
