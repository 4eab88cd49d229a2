// `npm test`: everything from a fresh clone: install, build, checks, then the tiers of tests; ends with the counts.
// `npm run test:faults`: the same for the tests that break things, alone and at full size.
// `npm run test:interop`: the same for the clients of others, with those that npm does not bring.
import './node-version.mjs';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ensureInstalled, npmCommand } from './install.mjs';
import { pathBinaries } from './postgres/binaries.mjs';
import { findRedisServer } from './redis.mjs';
import { fail, say, stage, UserError } from './terminal.mjs';

const root = path.resolve(import.meta.dirname, '..');
const reports = mkdtempSync(path.join(tmpdir(), 'switchyard-reports-'));
const OLDEST_POSTGRES = 15;
/** Tests of what sends statements of its own: the rest does not notice which PostgreSQL it is. */
const SPEAKS_SQL =
  'libs/(audit|execution|messaging|persistence)/|libs/adapters/src/workflow/workflow|apps/(cli|gateway/src/core)/';
/** How long a tier may take to end after its last test: what is still open then was left open by a test. */
const LINGER_MS = 20_000;

// Settings of an installation must not reach the tests: they would run on its database.
const PRODUCT_VARIABLES =
  /^(DATABASE_URL|MIGRATIONS_DATABASE_URL|REDIS_URL|PORT|HOST|DATA_DIR|ADMIN_API_KEY|MODEL_.*)$/;
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !PRODUCT_VARIABLES.test(name)));

const rows = [];
const remarks = [];

function record(row) {
  rows.push({ passed: 0, failed: 0, skipped: 0, ...row });
}

function finished(child) {
  return new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('close', (code) => resolve(code ?? 1));
  });
}

/** The steps of `npm run check` but the unit tests, which are a tier with counts of its own. */
function checks() {
  const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  return scripts.check
    .split('&&')
    .map((step) => step.trim().replace(/^npm run /, ''))
    .filter((name) => name !== 'unit');
}

async function runCheck(name) {
  const startedMs = performance.now();
  const [command, args] = npmCommand('run', '--silent', name);
  const child = spawn(command, args, { cwd: root, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const code = await finished(child);
  if (code !== 0) say(`\n── npm run ${name} failed\n${output.trim()}\n`);
  record({ tier: name, startedMs, endedMs: performance.now(), failed: code === 0 ? 0 : 1 });
}

async function runChecks() {
  const queue = checks();
  const worker = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) await runCheck(name);
  };
  await stage('Check format, lint, boundaries and types', () => Promise.all([worker(), worker()]));
}

function counts(report, code) {
  if (!existsSync(report)) return { failed: 1 };
  const result = JSON.parse(readFileSync(report, 'utf8'));
  const failed = result.numFailedTests + result.numRuntimeErrorTestSuites;
  return {
    passed: result.numPassedTests,
    // Whatever made Jest fail beside its tests counts as one failure.
    failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: result.numPendingTests + result.numTodoTests,
  };
}

/** Ends a tier that has written its report and stays: without it an open socket would hang the whole run. */
function watchEnd(child, report, tier) {
  let reportedMs;
  const timer = setInterval(() => {
    if (existsSync(report)) reportedMs ??= performance.now();
    if (reportedMs === undefined || performance.now() - reportedMs < LINGER_MS) return;
    remarks.push(`${tier}: a test left something open, the tier was ended`);
    child.kill('SIGKILL');
  }, 1000);
  return () => clearInterval(timer);
}

/** Runs the projects together, so that no worker is idle while another has files left. */
async function runTier(tier, projects, { workers, env = {}, only = '' }) {
  say(`\n── ${tier}`);
  const startedMs = performance.now();
  const report = path.join(reports, `${rows.length}.json`);
  const args = [
    '--selectProjects',
    ...projects,
    '--passWithNoTests',
    ...(only === '' ? [] : [`--testPathPatterns=${only}`]),
    `--maxWorkers=${workers}`,
    '--json',
    `--outputFile=${report}`,
  ];
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const child = spawn(process.execPath, [...flags, path.join(root, 'node_modules/jest/bin/jest.js'), ...args], {
    cwd: root,
    env: { ...environment, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const unwatch = watchEnd(child, report, tier);
  const code = await finished(child);
  unwatch();
  record({ tier, startedMs, endedMs: performance.now(), ...counts(report, code) });
}

/** The Redis of the tiers that need one, as environment. */
async function redisEnvironment() {
  if (process.env.REDIS_URL) return { TEST_REDIS_URL: process.env.REDIS_URL };
  const found = await stage('Find Redis', () => findRedisServer());
  if (found !== undefined) return {};
  remarks.push('No Redis here: suites ran on Postgres alone (set REDIS_URL or install redis-server)');
  if (process.env.CI === 'true') record({ tier: 'redis', startedMs: 0, endedMs: 0, failed: 1 });
  return { TEST_REDIS_URL: '' };
}

function summarise() {
  say('');
  for (const { tier, startedMs, endedMs, passed, failed, skipped } of rows) {
    const time = `${((endedMs - startedMs) / 1000).toFixed(1)} s`;
    const result = passed + failed + skipped === 0 ? 'ok' : `${passed} passed, ${failed} failed, ${skipped} skipped`;
    say(`${tier.padEnd(42)} ${time.padStart(8)}  ${result}`);
  }
  for (const remark of remarks) say(remark);
  const sum = (key) => rows.reduce((total, row) => total + row[key], 0);
  process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped\n`);
  process.exitCode = sum('failed') === 0 ? 0 : 1;
}

async function runAll() {
  await runChecks();
  await runTier('unit', ['unit'], { workers: 2 });
  const env = await redisEnvironment();
  await runTier('integration', ['integration'], { workers: 2, env });
  await runTier('e2e and interop', ['e2e', 'interop'], { workers: 4, env });
  const major = pathBinaries()?.major ?? 0;
  if (major >= OLDEST_POSTGRES) {
    const tier = `integration on PostgreSQL ${major} of the PATH`;
    await runTier(tier, ['integration'], { workers: 2, env: { ...env, TEST_POSTGRES: 'path' }, only: SPEAKS_SQL });
  } else {
    remarks.push(
      `No PostgreSQL ${OLDEST_POSTGRES} or newer on the PATH: the integration tier ran on the embedded one only`,
    );
  }
}

async function runFaults() {
  const env = await redisEnvironment();
  await runTier('faults', ['faults'], { workers: 1, env: { ...env, TEST_SIZE: 'full' } });
}

/** Suites whose tools are not here are skipped, and say which. */
async function runInterop() {
  const env = await redisEnvironment();
  await runTier('interop', ['interop'], { workers: 2, env });
  await runTier('interop with what npm does not bring', ['foreign'], { workers: 1, env });
}

async function main() {
  const runs = { all: runAll, faults: runFaults, interop: runInterop };
  const run = runs[process.argv[2] ?? 'all'];
  if (run === undefined) throw new UserError(`Tests are called by: ${Object.keys(runs).join(', ')}`);
  await ensureInstalled({ dev: true });
  const { build } = await import('./build.mjs');
  await stage('Build', build);
  await run();
  summarise();
}

try {
  await main();
} catch (error) {
  fail(error);
  process.stdout.write('0 passed, 1 failed, 0 skipped\n');
} finally {
  rmSync(reports, { recursive: true, force: true });
}
