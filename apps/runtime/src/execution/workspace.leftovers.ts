import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';

/** A name that a runtime of this host gave itself: host, process id, chance. */
const OWN_NAME = /^(.+)-(\d{1,10})-[0-9a-f]{6}$/;

/** The name of a runtime that was given none: no other process, on this host or another, has or had it. */
export function nameRuntime(host: string, pid: number, chance: Uint8Array): string {
  return `${hostWord(host)}-${pid}-${Buffer.from(chance).toString('hex')}`;
}

/**
 * Removes workspaces that nobody can be at work in: those under this runtime's own name, from before it started, and
 * those of runtimes of this host whose process is gone. Runs go on from saved workspaces, never from these.
 */
export async function removeLeftovers(workDir: string, host: string): Promise<readonly string[]> {
  const root = path.dirname(workDir);
  const names = await readdir(root).catch(() => []);
  const dead = names.filter((name) => name === path.basename(workDir) || isDead(name, host));
  for (const name of dead) await rm(path.join(root, name), { recursive: true, force: true });
  return dead;
}

function isDead(name: string, host: string): boolean {
  const [, itsHost, pid] = OWN_NAME.exec(name) ?? [];
  return itsHost === hostWord(host) && !isAlive(Number(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function hostWord(host: string): string {
  return host.replace(/[^\w.-]/g, '-').slice(0, 64);
}
