// Makes a PostgreSQL cluster: the same way for `npm start` and for the tests.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { asUser } from './user.mjs';

// Without LANG initdb would make an SQL_ASCII cluster; the C locale sorts by bytes everywhere.
const ENVIRONMENT = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
const LOCALE =
  process.platform === 'linux'
    ? ['--locale=C.UTF-8']
    : ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];

const programs = new Set();

/** Ends the programs that `run` is waiting for; a server that pg_ctl has started goes on. */
export function endPrograms() {
  for (const pid of programs) process.kill(-pid, 'SIGKILL');
}

/** Runs a PostgreSQL program to its end; answers its exit code and what it said. */
export function run(program, args, user) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...asUser(user),
      env: ENVIRONMENT,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    programs.add(child.pid);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.once('error', reject);
    child.once('exit', (code) => {
      programs.delete(child.pid);
      setImmediate(() => resolve({ code, output }));
    });
  });
}

function own(user, file) {
  if (user !== undefined) chownSync(file, user.uid, user.gid);
}

/** A folder only the server's user may enter. */
export function makeHome(home, user) {
  mkdirSync(path.dirname(home), { recursive: true });
  mkdirSync(home, { recursive: true, mode: 0o700 });
  own(user, home);
}

/**
 * Makes `<home>/cluster` unless it exists, with a password of its own in `<home>/password`. An initdb cut short leaves
 * only `<home>/cluster.new`, which the next attempt replaces.
 */
export async function ensureCluster({ home, bin, user }, ...initdbOptions) {
  const cluster = path.join(home, 'cluster');
  if (existsSync(path.join(cluster, 'PG_VERSION'))) return { created: false };
  const passwordFile = path.join(home, 'password');
  rmSync(`${cluster}.new`, { recursive: true, force: true });
  writeFileSync(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 });
  own(user, passwordFile);
  const options = [
    '--encoding=UTF8',
    ...LOCALE,
    '--auth=scram-sha-256',
    '--username=postgres',
    `--pwfile=${passwordFile}`,
  ];
  const { code, output } = await run(
    path.join(bin, 'initdb'),
    [`--pgdata=${cluster}.new`, ...options, ...initdbOptions],
    user,
  );
  if (code !== 0) throw new Error(`initdb ended with ${code}:\n${output}`);
  renameSync(`${cluster}.new`, cluster);
  return { created: true };
}

export function clusterUrl(home, port, database) {
  const password = readFileSync(path.join(home, 'password'), 'utf8').trim();
  return `postgresql://postgres:${password}@127.0.0.1:${port}/${database}`;
}
