// A Redis program for the tests.
import { spawnSync } from 'node:child_process';
import { onPath } from './postgres/binaries.mjs';

function installRedis() {
  if (process.getuid?.() !== 0 || onPath('apt-get') === undefined) return undefined;
  // Run level 1 keeps the package from starting a service of its own.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const apt = (...args) => spawnSync('apt-get', ['-qq', '-y', ...args], { env, stdio: 'ignore' }).status === 0;
  const install = () => apt('install', '--no-install-recommends', 'redis-server');
  return install() || (apt('update') && install()) ? onPath('redis-server') : undefined;
}

/** `redis-server` of the PATH, else Debian's package where we may install it, else undefined. */
export function findRedisServer() {
  return onPath('redis-server') ?? installRedis();
}
