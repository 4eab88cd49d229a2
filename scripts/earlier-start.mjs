// One `npm start` per DATA_DIR: a file there names its processes, so that a start after a crash can clear up behind it.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { commandOf, isAlive } from './processes.mjs';
import { stage, UserError } from './terminal.mjs';

const ENDS_WITHIN_MS = 10_000;

const fileOf = ({ dataDir }) => path.join(dataDir, 'start.json');

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined; // cut short by the crash
  }
}

/** Whether the id still names that process: after a restart of the machine it may be anyone's. */
function still(pid, script) {
  return isAlive(pid) && (commandOf(pid) ?? script).includes(script);
}

const left = ({ services }) => services.filter((pid) => still(pid, 'dist/apps'));

async function waitForEnd(earlier) {
  const deadlineMs = performance.now() + ENDS_WITHIN_MS;
  while (left(earlier).length > 0) {
    if (performance.now() > deadlineMs) for (const pid of left(earlier)) process.kill(-pid, 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Refuses a second start beside a live one; waits for what a killed one has left, and ends it if need be. */
export async function clearEarlierStart(settings) {
  const file = fileOf(settings);
  const earlier = existsSync(file) ? read(file) : undefined;
  if (earlier === undefined) return;
  if (still(earlier.pid, 'start.mjs')) {
    throw new UserError(
      `Switchyard already runs from ${settings.dataDir} (process ${earlier.pid}): stop it (Ctrl-C, or kill ${earlier.pid}), or set DATA_DIR and PORT to others`,
    );
  }
  if (left(earlier).length > 0)
    await stage('Wait for the processes of an earlier start to end', () => waitForEnd(earlier));
}

export function noteStart(settings, services) {
  const pids = services.map(({ child }) => child?.pid).filter(Boolean);
  writeFileSync(fileOf(settings), JSON.stringify({ pid: process.pid, services: pids }));
}

export function forgetStart(settings) {
  rmSync(fileOf(settings), { force: true });
}
