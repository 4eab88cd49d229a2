// Gateway and runtime as children of `npm start`.
import { spawn } from 'node:child_process';
import { existsSync, openSync, closeSync, readFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import { UserError } from './terminal.mjs';

const root = path.resolve(import.meta.dirname, '..');
const READY_MS = 60_000;
const POLL_MS = 100;

/**
 * Starts the service in a session of its own: Ctrl-C reaches it through us, in order. By the channel between us it
 * notices when we are gone. Its output goes to its log file.
 */
export function startService(service) {
  if (existsSync(service.log)) renameSync(service.log, `${service.log}.1`);
  const log = openSync(service.log, 'a', 0o600);
  service.child = spawn(process.execPath, [path.join(root, service.entry)], {
    cwd: root,
    env: { ...process.env, ...service.env },
    stdio: ['ignore', log, log, 'ipc'],
    detached: true,
  });
  closeSync(log);
  service.ended = new Promise((resolve) => {
    service.child.once('error', resolve);
    service.child.once('exit', (code, signal) => resolve(signal ?? code));
  });
}

/** A line of a log as people read it. */
function plain(line) {
  try {
    const { msg, error } = JSON.parse(line);
    return [msg, error?.message].filter(Boolean).join(': ');
  } catch {
    return line;
  }
}

const NOISE = /^(\s+at |\s*[{}^]+\s*$|\s*$|Node\.js v|file:\/\/)/;

/** The last lines a program has written, without the frames of a stack. */
export function lastLines(text) {
  const lines = text.split('\n').filter((line) => !NOISE.test(line));
  return lines.slice(-5).map(plain).join('\n');
}

export function lastWords({ log }) {
  return existsSync(log) ? lastLines(readFileSync(log, 'utf8')) : '';
}

async function isReady({ healthUrl }) {
  try {
    const { status, body } = await fetch(healthUrl, { signal: AbortSignal.timeout(2000) });
    await body?.cancel();
    return status === 200;
  } catch {
    return false;
  }
}

export async function waitUntilReady(service) {
  const ended = service.ended.then((how) => ({ how }));
  const deadlineMs = performance.now() + READY_MS;
  while (!(await isReady(service))) {
    const end = await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, POLL_MS))]);
    if (end !== undefined)
      throw new UserError(`${lastWords(service)}\nThe ${service.name} ended (${end.how}) before it was ready`);
    if (performance.now() > deadlineMs) {
      throw new UserError(`The ${service.name} was not ready within ${READY_MS / 1000} s: see ${service.log}`);
    }
  }
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** Asks the service to end; takes it and what it has started down when that lasts longer than `graceMs`. */
export async function stopService({ child, ended }, graceMs) {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  signal(child.pid, 'SIGTERM');
  const force = setTimeout(() => signal(-child.pid, 'SIGKILL'), graceMs);
  await ended;
  clearTimeout(force);
}
