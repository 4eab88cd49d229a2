// `npm start`: from a fresh clone to a running gateway and runtime; Ctrl-C ends all of it. Imports nothing but Node and
// its neighbours until the packages are installed.
import './node-version.mjs';
import './npm-watch.mjs';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { ensureAuditKey } from './audit-key.mjs';
import { clearEarlierStart, forgetStart, noteStart } from './earlier-start.mjs';
import { KEYS, MIGRATE, runEntry } from './entry.mjs';
import { freePort } from './free-port.mjs';
import { ensureInstalled } from './install.mjs';
import { endPrograms } from './postgres/cluster.mjs';
import { isRunning, locateServer, restartServer, startServer, stopServer } from './postgres/server.mjs';
import { checkDatabase, checkPort, checkRedis } from './preflight.mjs';
import { lastWords, startService, stopService, waitUntilReady } from './services.mjs';
import { prepareDataDir, readSettings } from './settings.mjs';
import { fail, say, stage, UserError } from './terminal.mjs';

/** Ctrl-C to the end is 10 s at most: the drain, then force, then the server. */
const DRAIN_SECONDS = 5;
const FORCE_MS = 8000;
const ECHO_MS = 500;
const WATCH_MS = 1000;
/** A service that ends by itself is started again, but not for ever: so often within a minute, then all is stopped. */
const MOST_ENDS = 4;
const MINUTE_MS = 60_000;
const RESTART_MS = 500;

const services = [];
let settings;
let noted = false;
let server;
let stopping;
let askedMs;

function note() {
  noted = true;
  noteStart(settings, services);
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Ends everything in order: those who write, then the server. */
async function stopAll(graceMs) {
  endPrograms();
  await Promise.all(services.map((service) => stopService(service, graceMs)));
  if (server !== undefined) await stopServer(server, { immediate: graceMs === 0 });
  if (noted) forgetStart(settings);
}

async function stop(exitCode) {
  if (stopping !== undefined) return;
  stopping = services.length > 0 ? stage('Stop', () => stopAll(FORCE_MS)) : stopAll(FORCE_MS);
  await stopping;
  process.exit(exitCode);
}

/** Ctrl-C once ends in order, twice at once. npm passes on the one the terminal has sent us already: that is no second. */
async function onSignal(name) {
  const nowMs = performance.now();
  if (stopping === undefined) {
    askedMs = nowMs;
    return stop(0);
  }
  if (name !== 'SIGINT' || nowMs - askedMs < ECHO_MS) return;
  await stopAll(0);
  process.exit(1);
}

async function prepareDatabase() {
  if (settings.databaseUrl !== undefined) {
    await stage('Look for the database', () => checkDatabase('DATABASE_URL', settings.databaseUrl));
    if (settings.migrationsUrl !== settings.databaseUrl)
      await checkDatabase('MIGRATIONS_DATABASE_URL', settings.migrationsUrl);
    return;
  }
  await stage('Start the embedded PostgreSQL', async () => {
    server = locateServer(settings);
    const { reused, note } = await startServer(server);
    settings.databaseUrl = settings.migrationsUrl = server.url;
    return { note: [reused && 'found it running', note].filter(Boolean).join(', ') };
  });
}

function environment() {
  return {
    DATABASE_URL: settings.databaseUrl,
    MIGRATIONS_DATABASE_URL: settings.migrationsUrl,
    PORT: String(settings.port),
    HOST: settings.host,
    DATA_DIR: settings.dataDir,
    // Where the database is somebody else's, who signs for whom is theirs to say.
    ...(server && { AUDIT_KEY_FILE: ensureAuditKey(settings.dataDir) }),
    DRAIN_SECONDS: process.env.DRAIN_SECONDS || String(DRAIN_SECONDS),
  };
}

function reachableHost() {
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[settings.host] ?? settings.host;
  return host.includes(':') ? `[${host}]` : host;
}

const address = () => `http://${reachableHost()}:${settings.port}`;

async function declareServices() {
  const healthPort = settings.healthPort ?? String(await freePort());
  const logs = path.join(settings.dataDir, 'logs');
  mkdirSync(logs, { recursive: true });
  const declare = (name, healthUrl, env) => ({
    name,
    entry: `dist/apps/${name}/src/main.js`,
    log: path.join(logs, `${name}.log`),
    healthUrl,
    env: { ...environment(), ...env },
  });
  services.push(declare('gateway', `${address()}/health/ready`, {}));
  services.push(
    declare('runtime', `http://127.0.0.1:${healthPort}/health/ready`, { HEALTH_PORT: healthPort, HOST: '127.0.0.1' }),
  );
}

/** Starts a service that has ended by itself again, unless it does nothing but end. */
async function supervise(service) {
  let ends = [];
  for (;;) {
    const how = await service.ended;
    if (stopping !== undefined) return;
    const nowMs = performance.now();
    ends = [...ends.filter((endMs) => nowMs - endMs < MINUTE_MS), nowMs];
    if (ends.length >= MOST_ENDS) {
      throw new UserError(
        `${lastWords(service)}\nThe ${service.name} ends again and again (${how}): see ${service.log}`,
      );
    }
    say(`! The ${service.name} ended (${how}) and is started again; its log is now ${service.log}.1`);
    await pause(RESTART_MS);
    if (stopping !== undefined) return;
    startService(service);
    note();
  }
}

async function superviseServer() {
  while (stopping === undefined) {
    await pause(WATCH_MS);
    if (stopping !== undefined || isRunning(server)) continue;
    await stage('Start the embedded PostgreSQL again, it has ended', () => restartServer(server));
  }
}

function welcome(key) {
  const print = (line) => process.stdout.write(`${line}\n`);
  print(`\nSwitchyard listens on ${address()}   (reader: ${address()}/docs, logs: ${path.dirname(services[0].log)})\n`);
  if (key !== '') say(`The first admin key, shown only this once:\n\n  ${key}\n`);
  else print('Put an API key into SWITCHYARD_KEY (npm run keys -- create makes one), then submit a task and watch it:');
  if (key !== '') say('Submit a task and watch it:');
  const input = 'Switchyard stores every event before anyone sees it. I love how calm that makes operations.';
  print(`
  curl -N ${address()}/v1/tasks \\
    -H "Authorization: Bearer ${key || '$SWITCHYARD_KEY'}" \\
    -H 'Content-Type: application/json' -H 'Accept: text/event-stream' \\
    -d '{"agent_id":"text-analyst","input":"${input}"}'
`);
  print('Ctrl-C stops everything.');
}

async function start() {
  settings = readSettings();
  prepareDataDir(settings);
  await clearEarlierStart(settings);
  note();
  await checkPort(settings);
  await ensureInstalled();
  const { build } = await import('./build.mjs');
  await stage('Build', build);
  await prepareDatabase();
  if (settings.redisUrl !== undefined) await stage('Look for Redis', () => checkRedis(settings.redisUrl));
  await stage('Migrate the database', () => runEntry(MIGRATE, [], environment()).then(() => undefined));
  await declareServices();
  for (const service of services) startService(service);
  note();
  await stage('Start gateway and runtime', () => Promise.all(services.map(waitUntilReady)));
  // Made last: a key that a failed start has made would never have been shown.
  welcome(await runEntry(KEYS, ['first'], environment()));
  await Promise.race([...services.map(supervise), ...(server === undefined ? [] : [superviseServer()])]);
}

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => void onSignal(name));
process.stderr.on('error', () => undefined); // the terminal may be gone

try {
  await start();
} catch (error) {
  if (stopping === undefined) {
    fail(error);
    await stop(1);
  }
}
