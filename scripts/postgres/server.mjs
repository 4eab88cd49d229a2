// The life of the embedded PostgreSQL server. It runs in a session of its own, through pg_ctl, so that a Ctrl-C at the
// terminal does not take it from under those who still write.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePort } from '../free-port.mjs';
import { commandOf, isAlive } from '../processes.mjs';
import { UserError } from '../terminal.mjs';
import { embeddedBinaries } from './binaries.mjs';
import { clusterUrl, ensureCluster, run } from './cluster.mjs';
import { embeddedHome, fallbackHome } from './home.mjs';
import { nameOf, serverUser } from './user.mjs';

const DATABASE = 'switchyard';
const ATTEMPTS = 5;
const RETRY_MS = 1000;

const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=100',
  'log_checkpoints=off',
  'log_timezone=UTC',
];

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What postmaster.pid says: `{ pid, port }`, or undefined where no server runs or ran without a proper end. */
function postmaster({ home }) {
  const file = path.join(home, 'cluster/postmaster.pid');
  if (!existsSync(file)) return undefined;
  const lines = readFileSync(file, 'utf8').split('\n');
  return { pid: Number(lines[0]), port: Number(lines[3]) };
}

function runs(server) {
  const { pid } = postmaster(server) ?? {};
  // After a restart of the machine the number may belong to any process.
  return pid !== undefined && isAlive(pid) && /postgres/.test(commandOf(pid) ?? 'postgres');
}

async function connect(url) {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Makes the database on first use. */
async function ensureDatabase({ home, port }) {
  const client = await connect(clusterUrl(home, port, 'postgres'));
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}

/** Takes over the server an earlier start left behind; false when there is none that answers. */
async function reuse(server) {
  if (!runs(server)) return false;
  server.port = postmaster(server).port;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    try {
      await ensureDatabase(server);
      return true;
    } catch {
      if (!runs(server)) return false;
      await pause(RETRY_MS);
    }
  }
  await stopServer(server, { immediate: true });
  return false;
}

/**
 * Lets a server start over the postmaster.pid of a killed one whose process id is now a stranger's, or a zombie's in a
 * container that reaps none. Only the id is replaced, by one that is gone: by the rest of the file the server finds out
 * whether children of the killed one still hold the memory they shared.
 */
function disownProcessId(server) {
  const file = path.join(server.home, 'cluster/postmaster.pid');
  const { pid } = postmaster(server) ?? {};
  if (pid === undefined || !isAlive(pid) || runs(server)) return;
  const gone = spawnSync(process.execPath, ['--version']).pid;
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^\d+/, String(gone)));
}

function logTail({ home }) {
  const log = path.join(home, 'server.log');
  return existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n').slice(-5).join('\n') : '';
}

function pgCtl(server, ...args) {
  return run(path.join(server.bin, 'pg_ctl'), [...args, '-D', path.join(server.home, 'cluster')], server.user);
}

async function launch(server) {
  disownProcessId(server);
  const options = [`-p ${server.port}`, ...SETTINGS.map((setting) => `-c ${setting}`)].join(' ');
  const log = path.join(server.home, 'server.log');
  const { code } = await pgCtl(server, 'start', '-w', '-t', '120', '-l', log, '-o', options);
  return code === 0;
}

/**
 * Has the server running, on `port` or else a free one: takes over one that runs, whoever has started it, at the same
 * moment perhaps; tries again, since a killed server's children need a moment to go. Answers whether it ran already.
 */
async function launchOrReuse(server, port) {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    if (await reuse(server)) return true;
    server.port = port ?? (await freePort());
    if (await launch(server)) return false;
    await pause(RETRY_MS);
  }
  throw new UserError(
    `The embedded PostgreSQL in ${server.home} does not start; the end of its log says:\n${logTail(server)}`,
  );
}

/** For root: the user whose files they are, once there are some. */
function ownerOf(home) {
  const { uid, gid } = (process.getuid?.() === 0 && statSync(home, { throwIfNoEntry: false })) || {};
  return uid ? { name: nameOf(uid), uid, gid } : undefined;
}

function refuseForeign(home) {
  const { uid } = statSync(home);
  const us = process.getuid?.();
  if (us === undefined || us === 0 || uid === us) return;
  throw new UserError(
    `DATA_DIR: ${home} belongs to another user (uid ${uid}), so PostgreSQL cannot use it: start as that user, set DATA_DIR to another folder or set DATABASE_URL`,
  );
}

/** Where the server of these settings lives: `{ home, user, bin, note }`; nothing is started. */
export function locateServer(settings) {
  const user = ownerOf(path.join(settings.dataDir, 'postgres')) ?? ownerOf(fallbackHome()) ?? serverUser();
  const { home, note } = embeddedHome(settings, user);
  refuseForeign(home);
  return { home, user, note, bin: embeddedBinaries(user, fallbackHome(user)) };
}

/** Makes the cluster if need be and has its server running: sets `port` and `url` on what `locateServer` answered. */
export async function startServer(server) {
  await ensureCluster(server);
  server.reused = await launchOrReuse(server);
  if (!server.reused) await ensureDatabase(server);
  server.url = clusterUrl(server.home, server.port, DATABASE);
  return server;
}

/** Starts the server again where those who use it expect it. */
export async function restartServer(server) {
  await launchOrReuse(server, server.port);
}

export function isRunning(server) {
  return runs(server);
}

/** Whether anyone but us is connected. */
export async function isUsed(server) {
  const client = await connect(server.url);
  try {
    const sql = `select 1 from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`;
    return (await client.query(sql)).rowCount > 0;
  } finally {
    await client.end();
  }
}

/** Stops the server if it runs: it ends its sessions and writes everything out, or with `immediate` recovers at its next start. */
export async function stopServer(server, { immediate = false } = {}) {
  if (!runs(server)) return;
  if (!immediate && (await pgCtl(server, 'stop', '-w', '-t', '2', '-m', 'fast')).code === 0) return;
  await pgCtl(server, 'stop', '-w', '-t', '3', '-m', 'immediate');
}
