// One `npm start` per DATA_DIR: a file there names its processes, so that a start after a crash can clear up behind it.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isStill } from './processes.mjs';
import { stage, UserError } from './terminal.mjs';

const ENDS_WITHIN_MS = 10_000;

const fileOf = ({ dataDir }) => path.join(dataDir, 'start.json');

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined; // there is none, or it was cut short by a crash
  }
}

const left = ({ services }) => services.filter((pid) => isStill(pid, 'dist/apps'));

async function waitForEnd(earlier) {
  const deadlineMs = performance.now() + ENDS_WITHIN_MS;
  while (left(earlier).length > 0) {
    if (performance.now() > deadlineMs) for (const pid of left(earlier)) process.kill(-pid, 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The process of an `npm start` that runs on this DATA_DIR now, or undefined. */
export function liveStart(settings) {
  const earlier = read(fileOf(settings));
  return earlier !== undefined && isStill(earlier.pid, 'start.mjs') ? earlier.pid : undefined;
}

/** Refuses a second start beside a live one; waits for what a killed one has left, and ends it if need be. */
export async function clearEarlierStart(settings) {
  const pid = liveStart(settings);
  if (pid !== undefined) {
    throw new UserError(
      `Switchyard already runs from ${settings.dataDir} (process ${pid}): stop it (Ctrl-C, or kill ${pid}), or set DATA_DIR and PORT to others`,
    );
  }
  const earlier = read(fileOf(settings));
  if (earlier === undefined || left(earlier).length === 0) return;
  await stage('Wait for the processes of an earlier start to end', () => waitForEnd(earlier));
}

export function noteStart(settings, services) {
  const pids = services.map(({ child }) => child?.pid).filter(Boolean);
  writeFileSync(fileOf(settings), JSON.stringify({ pid: process.pid, services: pids }));
}

export function forgetStart(settings) {
  rmSync(fileOf(settings), { force: true });
}
