// Where the embedded server keeps its files.
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../terminal.mjs';
import { makeHome } from './cluster.mjs';
import { canEnter } from './user.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const OUTSIDE = '/var/lib/switchyard';

function read(file) {
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}

/** A folder outside the clone, for what the server's user cannot reach inside it: one per clone. */
export function fallbackHome(user) {
  const home = path.join(OUTSIDE, createHash('sha256').update(root).digest('hex').slice(0, 12));
  if (user === undefined || existsSync(home)) return home;
  mkdirSync(OUTSIDE, { recursive: true });
  chmodSync(OUTSIDE, 0o755); // whatever the umask is
  makeHome(home, user);
  return home;
}

// A clone that was moved keeps its database; a copy of a clone gets one of its own.
function pointedTo(pointer) {
  const home = read(pointer);
  const owner = home && read(path.join(home, 'clone'));
  const copied = owner !== root && existsSync(owner || root);
  return owner && !copied ? home : undefined;
}

/** All or nothing: a file cut short would lose the database. */
function write(file, text) {
  if (read(file) === text) return;
  const partial = `${file}.${process.pid}`;
  writeFileSync(partial, `${text}\n`);
  renameSync(partial, file);
}

function outsideHome(dataDir, user) {
  if (existsSync(path.join(dataDir, 'postgres/password'))) {
    throw new UserError(
      `${dataDir}/postgres holds a database, but the user "${user.name}", as whom PostgreSQL runs for root, can no longer enter it: ` +
        'give the folders above it mode 755 or set DATABASE_URL',
    );
  }
  const pointer = path.join(dataDir, 'postgres.location');
  const home = pointedTo(pointer) ?? fallbackHome(user);
  write(pointer, home);
  write(path.join(home, 'clone'), root);
  return { home, note: `files in ${home}, since the user "${user.name}" cannot enter this folder` };
}

/** The folder of the embedded server: below DATA_DIR where its user can enter that, else outside the clone. */
export function embeddedHome({ dataDir, dataDirGiven }, user) {
  if (!canEnter(user, dataDir)) {
    if (!dataDirGiven) return outsideHome(dataDir, user);
    throw new UserError(
      `DATA_DIR: the user "${user.name}", as whom PostgreSQL runs for root, cannot enter ${dataDir}: ` +
        'give it and the folders above it mode 755, choose another folder or set DATABASE_URL',
    );
  }
  const home = path.join(dataDir, 'postgres');
  if (!existsSync(home)) makeHome(home, user);
  return { home };
}
