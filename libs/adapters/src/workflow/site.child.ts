import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

const LIFE_MS = 10_000;
const HEAP_MIB = 128;
const MAX_OUTPUT = 64 * 1024;
/** Newer releases of Node dropped the longer spelling. */
const PERMISSION = process.allowedNodeEnvironmentFlags.has('--experimental-permission')
  ? '--experimental-permission'
  : '--permission';

export interface SiteChild {
  readonly port: number;
  /** Ends the child and resolves once it is gone; harmless when it is gone already. */
  stop(): Promise<void>;
}

/** The child ended, was ended or never listened. */
export class SiteChildError extends Error {
  override readonly name = 'SiteChildError';
}

/**
 * Starts `<directory>/server.mjs` on a free loopback port. The child has an empty environment, may read only the
 * directory and write only its `data/`, may start nothing, has 128 MiB of heap and lives 10 s at most.
 */
export async function startSite(directory: string, signal?: AbortSignal): Promise<SiteChild> {
  signal?.throwIfAborted();
  const child = spawn(process.execPath, siteArguments(directory), {
    cwd: directory,
    env: {},
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const gone = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
  const kill = (): void => void child.kill('SIGKILL');
  const timer = setTimeout(kill, LIFE_MS);
  signal?.addEventListener('abort', kill, { once: true });
  void gone.then(() => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', kill);
  });
  const stop = async (): Promise<void> => {
    kill();
    await gone;
  };
  try {
    return { port: await listeningPort(child, gone), stop };
  } catch (error) {
    await stop();
    signal?.throwIfAborted();
    throw error;
  }
}

function siteArguments(directory: string): string[] {
  return [
    PERMISSION,
    `--allow-fs-read=${directory}`,
    `--allow-fs-write=${join(directory, 'data')}`,
    `--max-old-space-size=${String(HEAP_MIB)}`,
    '--no-warnings',
    join(directory, 'server.mjs'),
    '0',
  ];
}

async function listeningPort(child: ChildProcess, gone: Promise<void>): Promise<number> {
  let output = '';
  const listening = new Promise<number>((resolve) => {
    const read = (chunk: Buffer): void => {
      // Read on for ever, so that a chatty child never blocks; kept are the first 64 KiB.
      if (output.length < MAX_OUTPUT) output += chunk.toString('utf8');
      const port = /listening on http:\/\/127\.0\.0\.1:(\d{1,5})\b/.exec(output)?.[1];
      if (port !== undefined) resolve(Number(port));
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', (chunk: Buffer) => {
      if (output.length < MAX_OUTPUT) output += chunk.toString('utf8');
    });
  });
  const ended = gone.then(() => {
    throw new SiteChildError(`the back end ended before it listened: ${output.trim().slice(0, 500)}`);
  });
  return Promise.race([listening, ended]);
}

/** Parses JavaScript without running any of it; resolves with what is wrong, or undefined. */
export async function syntaxProblem(path: string, signal?: AbortSignal): Promise<string | undefined> {
  signal?.throwIfAborted();
  const child = spawn(process.execPath, ['--check', path], {
    env: {},
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: LIFE_MS,
    killSignal: 'SIGKILL',
  });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    if (output.length < MAX_OUTPUT) output += chunk.toString('utf8');
  });
  const code = await new Promise<number | null>((resolve) => {
    child.once('close', resolve);
    child.once('error', () => resolve(1));
  });
  return code === 0 ? undefined : (/^\w*Error: .*$/m.exec(output)?.[0] ?? 'it cannot be parsed');
}
