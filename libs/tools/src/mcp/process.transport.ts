import { type JSONRPCMessage, ReadBuffer, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface ServerProcess {
  readonly command: string;
  readonly args: readonly string[];
  /** All of its environment: nothing of ours comes along. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  /** What it prints beside messages, in pieces of any size. */
  readonly onStderr: (text: string) => void;
}

/** The longest message, in bytes. */
const MAX_MESSAGE = 8_388_608;
/** Frames that are JSON and no messages, after which nothing more is read. */
const MAX_GARBAGE = 20;
/** How long a server may take to end after it was asked to, in ms. */
const END_MS = 2_000;

/** Waits for the end of its input, which the system closes when this process is gone, and ends the group it is told. */
const GUARD = ['-c', 'read _; kill -s KILL -- "-$1"', 'sh'] as const;

/**
 * An MCP server as a process of ours, spoken to over its standard streams (MCP, transports, stdio). It leads a group of
 * its own, and what it has started ends with it; all of it ends with us, also when we are killed.
 */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  private child: ChildProcess | undefined;
  private guard: ChildProcess | undefined;
  private readonly buffer = new ReadBuffer({ maxBufferSize: MAX_MESSAGE });
  private garbage = 0;
  private closing: Promise<void> | undefined;

  constructor(private readonly server: ServerProcess) {}

  /** Rejects when the program cannot be started. */
  async start(): Promise<void> {
    const { command, args, env, cwd, onStderr } = this.server;
    const child = spawn(command, args, { env: { ...env }, cwd, stdio: 'pipe', detached: true, shell: false });
    this.child = child;
    child.once('exit', () => void this.close());
    child.stdin.on('error', (error) => this.onerror?.(error));
    child.stdout.on('data', (chunk: Buffer) => this.read(chunk));
    child.stderr.on('data', (chunk: Buffer) => onStderr(chunk.toString('utf8')));
    await once(child, 'spawn');
    this.guard = guarding(child.pid!);
    child.on('error', (error) => this.onerror?.(error));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.child?.stdin;
    if (!stdin || stdin.destroyed || this.closing) throw new Error('the server has ended');
    if (stdin.write(serializeMessage(message))) return;
    await Promise.race([once(stdin, 'drain'), once(stdin, 'close')]);
  }

  /** Ends the server and whatever it has started. */
  close(): Promise<void> {
    this.closing ??= this.end().finally(() => {
      this.buffer.clear();
      this.onclose?.();
    });
    return this.closing;
  }

  private async end(): Promise<void> {
    const { child } = this;
    if (child?.pid === undefined) return;
    const { pid } = child;
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    const ended = hasEnded ? Promise.resolve() : once(child, 'exit').then(() => undefined);
    child.stdin?.end();
    signalGroup(pid, 'SIGTERM');
    const force = setTimeout(() => signalGroup(pid, 'SIGKILL'), END_MS);
    await ended;
    clearTimeout(force);
    // What it has started and left behind serves nobody.
    signalGroup(pid, 'SIGKILL');
    this.guard?.kill('SIGKILL');
    child.stdout?.destroy();
    child.stderr?.destroy();
  }

  private read(chunk: Buffer): void {
    if (this.closing) return;
    try {
      this.buffer.append(chunk);
    } catch (error) {
      this.giveUp(error);
      return;
    }
    while (!this.closing && this.readNext());
  }

  /** False when there is no whole message left. */
  private readNext(): boolean {
    try {
      const message = this.buffer.readMessage();
      if (message === null) return false;
      this.onmessage?.(message);
    } catch (error) {
      this.garbage += 1;
      if (this.garbage >= MAX_GARBAGE) this.giveUp(error);
      else this.onerror?.(error as Error);
    }
    return true;
  }

  private giveUp(error: unknown): void {
    this.onerror?.(error as Error);
    void this.close();
  }
}

/** In a group of its own: whoever ends ours ends the guard last. Where there is no shell there is no guard. */
function guarding(group: number): ChildProcess {
  const guard = spawn('/bin/sh', [...GUARD, String(group)], {
    env: {},
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.on('error', () => undefined);
  guard.stdin.on('error', () => undefined);
  return guard;
}

/** The group may be gone already. */
function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody left.
  }
}
