// Child processes of the bench and the CPU time they used.
import { fork, spawn } from 'node:child_process';
import { openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

const TICK_US = 10_000;
const children = new Set();

function remember(child) {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

function logTo(dir, name) {
  return openSync(path.join(dir, `${name}.log`), 'w');
}

/** Starts a process that tells through its channel when it is ready; answers its pid, that message, and how to send it one. */
export function startChild(dir, { name, file, args = [], nodeArgs = [], env = {}, cwd }) {
  const log = logTo(dir, name);
  const stdio = ['ignore', log, log, 'ipc'];
  const child = remember(fork(file, args, { cwd, env: { ...process.env, ...env }, stdio, execArgv: nodeArgs }));
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve({ pid: child.pid, send: (order) => child.send(order), ...message }));
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}: see ${dir}/${name}.log`)));
  });
}

/** Starts a process that knows nothing of the bench. */
export function startProgram(dir, { name, file, nodeArgs = [], env = {}, cwd }) {
  const log = logTo(dir, name);
  const child = remember(
    spawn(process.execPath, [...nodeArgs, file], { cwd, env: { ...process.env, ...env }, stdio: ['ignore', log, log] }),
  );
  const ended = new Promise((_, reject) => {
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}: see ${dir}/${name}.log`)));
  });
  ended.catch(() => undefined);
  return { pid: child.pid, ended };
}

/** What a process is started with so that `heapBytes` can ask it. */
export function memoryProbe(dir, name) {
  const memoryFile = path.join(dir, `${name}.memory`);
  const nodeArgs = ['--expose-gc', `--import=${path.join(import.meta.dirname, 'memory-probe.mjs')}`];
  return { memoryFile, nodeArgs, env: { BENCH_MEMORY_FILE: memoryFile } };
}

/** What the heap of a process holds after a collection, buffers included. */
export async function heapBytes(pid, { memoryFile }) {
  rmSync(memoryFile, { force: true });
  process.kill(pid, 'SIGUSR2');
  const deadlineMs = performance.now() + 10_000;
  while (performance.now() < deadlineMs) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    try {
      return Number(readFileSync(memoryFile, 'utf8'));
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
  }
  throw new Error(`process ${pid} does not tell its memory`);
}

export async function stopChildren() {
  const running = [...children];
  await Promise.all(
    running.map((child) => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      const hard = setTimeout(() => child.kill('SIGKILL'), 10_000);
      child.kill('SIGTERM');
      return ended.then(() => clearTimeout(hard));
    }),
  );
}

function stat(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    const [utime, stime, childUtime, childStime] = fields.slice(11, 15).map(Number);
    return { parent: Number(fields[1]), own: utime + stime, ended: childUtime + childStime };
  } catch {
    return undefined;
  }
}

/** CPU time in µs of a process and all its descendants, those that ended included; undefined where there is no /proc. */
export function cpuUs(root) {
  if (stat(root) === undefined) return undefined;
  const all = new Map();
  for (const name of readdirSync('/proc')) {
    const found = /^\d+$/.test(name) ? stat(name) : undefined;
    if (found) all.set(Number(name), found);
  }
  const inside = (pid) => pid === root || (all.has(pid) && pid > 1 && inside(all.get(pid).parent));
  let ticks = 0;
  for (const [pid, { own, ended }] of all) if (inside(pid)) ticks += own + ended;
  return ticks * TICK_US;
}
