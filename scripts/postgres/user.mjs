// PostgreSQL refuses to run as root, so for root the server runs as another user, who must be able to reach its files.
import { spawnSync } from 'node:child_process';

const OWN_USER = 'switchyard';

function lookUp(name) {
  const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }));
  return uid.status === 0 && gid.status === 0 ? { name, uid: Number(uid.stdout), gid: Number(gid.stdout) } : undefined;
}

/** The name of a user id, or the id itself where it has none. */
export function nameOf(uid) {
  const { status, stdout } = spawnSync('id', ['-nu', String(uid)], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : `uid ${uid}`;
}

function createUser() {
  spawnSync('useradd', ['-r', '-M', '-s', '/usr/sbin/nologin', OWN_USER], { stdio: 'ignore' });
  return lookUp(OWN_USER);
}

/** The user a server of ours runs as; undefined where that is simply the caller. */
export function serverUser() {
  if (process.getuid?.() !== 0) return undefined;
  return lookUp('postgres') ?? lookUp(OWN_USER) ?? createUser() ?? lookUp('nobody');
}

/** Spawn options that run a child as `user`, in a folder every user can enter. */
export function asUser(user) {
  return user === undefined ? { cwd: '/' } : { cwd: '/', uid: user.uid, gid: user.gid };
}

/** Whether `user` can enter `dir` and, where named, read `file` inside it. Asked of the system: modes alone miss ACLs. */
export function canEnter(user, dir, file = '.') {
  if (user === undefined) return true;
  return (
    spawnSync('/bin/sh', ['-c', 'cd "$0" && [ -r "$1" ]', dir, file], { ...asUser(user), stdio: 'ignore' }).status === 0
  );
}
