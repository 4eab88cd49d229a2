// The servers of one test run: a PostgreSQL with a migrated template database, and a Redis.
import { execFile, spawn } from 'node:child_process';
import { chownSync, mkdtempSync, openSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from '../../scripts/free-port.mjs';
import { embeddedBinaries, pathBinaries } from '../../scripts/postgres/binaries.mjs';
import { clusterUrl, ensureCluster } from '../../scripts/postgres/cluster.mjs';
import { fallbackHome } from '../../scripts/postgres/home.mjs';
import { findRedisServer } from '../../scripts/redis.mjs';
import { asUser, canEnter, serverUser } from '../../scripts/postgres/user.mjs';

const root = path.resolve(import.meta.dirname, '../..');
export const TEMPLATE = 'switchyard_template';

// A test server need not survive a crash, but it serves many databases at once.
export const POSTGRES_SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '300',
  fsync: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
};

const running = [];

/**
 * Starts a server that ends with us, however we end: its guard waits for the end of its own standard input, which the
 * system closes when this process is gone. In a session of its own, so that Ctrl-C lets the tests finish with it first.
 */
function startGuarded(program, args, { dir, user }) {
  const script = 'dir=$1; shift; "$@" & pid=$!; read _; kill -INT $pid; wait $pid; rm -rf "$dir"';
  const log = openSync(path.join(dir, 'log'), 'a');
  const guard = spawn('/bin/sh', ['-c', script, 'sh', dir, program, ...args], {
    ...asUser(user),
    env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['pipe', log, log],
    detached: true,
  });
  running.push(() => {
    const ended = new Promise((resolve) => guard.once('exit', resolve));
    guard.stdin.end();
    return ended;
  });
  return guard.pid;
}

export function temporaryDir(user) {
  // The server's user may be unable to enter the TMPDIR of the caller.
  const parent = [tmpdir(), '/tmp', '/var/tmp'].find((dir) => canEnter(user, dir)) ?? tmpdir();
  const dir = mkdtempSync(path.join(parent, 'switchyard-test-'));
  if (user !== undefined) chownSync(dir, user.uid, user.gid);
  return dir;
}

/** Repeats an attempt until it succeeds, for at most 30 s. */
export async function answers(attempt, what) {
  const deadlineMs = performance.now() + 30_000;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > deadlineMs) throw new Error(`${what} does not answer`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

export async function query(connectionString, sql) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}

/** The programs of the embedded PostgreSQL, or of the one on the PATH where TEST_POSTGRES asks for that. */
export function postgresBinaries(user) {
  const bin = process.env.TEST_POSTGRES === 'path' ? pathBinaries()?.bin : embeddedBinaries(user, fallbackHome(user));
  if (bin === undefined) throw new Error('TEST_POSTGRES=path, but no postgres with its initdb is on the PATH');
  return bin;
}

/** Answers the address of a new server and the process whose descendants are that server. */
export async function startPostgres(server = POSTGRES_SETTINGS) {
  const user = serverUser();
  const bin = postgresBinaries(user);
  const dir = temporaryDir(user);
  await ensureCluster({ home: dir, bin, user }, '--no-sync');
  const port = await freePort();
  const settings = Object.entries(server).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const pid = startGuarded(
    path.join(bin, 'postgres'),
    ['-D', path.join(dir, 'cluster'), '-p', String(port), ...settings],
    { dir, user },
  );
  const url = clusterUrl(dir, port, 'postgres');
  await answers(() => query(url, 'select 1'), 'the PostgreSQL server for tests');
  return { url, pid };
}

/** Makes a database, migrated by the program that migrates any other; answers its address. */
export async function makeDatabase(url, name) {
  await query(url, `create database ${name}`);
  const made = new URL(url);
  made.pathname = `/${name}`;
  const env = { PATH: process.env.PATH, DATABASE_URL: made.href };
  await promisify(execFile)(process.execPath, [path.join(root, 'dist/apps/migrate/src/main.js')], { cwd: root, env });
  return made.href;
}

export async function startRedis() {
  const program = findRedisServer();
  if (program === undefined) return undefined;
  const dir = temporaryDir();
  const port = await freePort();
  const pid = startGuarded(program, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', dir], {
    dir,
  });
  await answers(
    () =>
      new Promise((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () => resolve(socket.end()));
        socket.once('error', reject);
      }),
    'the Redis server for tests',
  );
  return { url: `redis://127.0.0.1:${port}`, pid };
}

/** Starts what is not given by TEST_DATABASE_URL and TEST_REDIS_URL (or REDIS_URL) and names it there. */
export async function startServices() {
  process.env.TEST_REDIS_URL ??= process.env.REDIS_URL ?? (await startRedis())?.url ?? '';
  if (process.env.TEST_REDIS_URL === '' && process.env.CI === 'true') {
    throw new Error('No Redis for the tests: set REDIS_URL or install redis-server');
  }
  if (process.env.TEST_DATABASE_URL !== undefined) return;
  const { url } = await startPostgres();
  await makeDatabase(url, TEMPLATE);
  process.env.TEST_DATABASE_URL = url;
}

export async function stopServices() {
  await Promise.all(running.splice(0).map((stop) => stop()));
}
