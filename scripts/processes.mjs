// What the operating system knows about a process id.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** Whether a process of this id exists, whoever owns it. */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** The command line of a process, or undefined where the system does not tell. */
export function commandOf(pid) {
  if (existsSync('/proc/self/cmdline')) {
    const file = `/proc/${pid}/cmdline`;
    return existsSync(file) ? readFileSync(file, 'utf8').replaceAll('\0', ' ') : '';
  }
  const { stdout, status } = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}

/** Whether the id still names the process that runs `script`: after a restart of the machine it may be anyone's. */
export function isStill(pid, script) {
  return isAlive(pid) && (commandOf(pid) ?? script).includes(script);
}
