import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** Where Go gets it from is said by its own environment: a module proxy, or what `GOFLAGS` or `GOWORK` name. */
const MODULE = 'github.com/skosovsky/toolsy/agents v0.20.6';
const MAIN = path.resolve(import.meta.dirname, 'main.go');

/** Builds the client below a folder and answers its program, or says in a line what is missing. */
export function buildClient(folder: string): { readonly program: string } | { readonly missing: string } {
  const module = path.join(folder, 'client');
  mkdirSync(module, { recursive: true });
  writeFileSync(path.join(module, 'go.mod'), `module switchyard/interop\n\ngo 1.26\n\nrequire ${MODULE}\n`);
  cpSync(MAIN, path.join(module, 'main.go'));
  const program = path.join(folder, 'step-stream');
  const { error, status, stderr } = spawnSync('go', ['build', '-mod=mod', '-o', program, '.'], {
    cwd: module,
    timeout: 300_000,
    encoding: 'utf8',
    env: { ...process.env, GOTOOLCHAIN: 'local' },
  });
  if (status === 0) return { program };
  if (error && 'code' in error && error.code === 'ENOENT') return { missing: 'go 1.26 or newer' };
  const why = stderr.split('\n').find((line) => line !== '' && !line.startsWith('go: downloading')) ?? String(error);
  return { missing: `${MODULE} (${why})` };
}

/** A step as the client has read it. */
export interface GoStep {
  readonly step_id: string;
  readonly name: string;
  readonly status: string;
  readonly is_last: boolean;
  readonly output?: string;
}

/** How a call ended, as the client's caller sees it. */
export interface GoEnd {
  readonly result: string | null;
  readonly error?: string;
  readonly cause?: string;
  readonly phase?: 'create' | 'observe';
  readonly outcome?: 'failed' | 'cancelled' | 'incomplete' | 'malformed' | 'unknown';
  readonly taskId?: string;
  readonly step?: GoStep;
  readonly isTimeout?: boolean;
  readonly isGone?: boolean;
}

interface Line {
  readonly n: number;
  readonly label?: string;
  readonly status?: string;
  readonly step?: GoStep;
  /** What it did for the task when its own caller had gone. */
  readonly cancel?: {
    readonly taskId: string;
    readonly stage: string;
    readonly acknowledged: boolean;
    readonly cause: string;
  };
  readonly end?: GoEnd;
}

/** What is asked of the program: see its `asked`. */
export type Asked =
  | {
      readonly op: 'run' | 'start';
      readonly url: string;
      readonly key: string;
      readonly args: string;
      readonly millis?: number;
      readonly stopAt?: string;
      readonly leaveAt?: 'progress' | 'result';
    }
  | { readonly op: 'observe'; readonly url: string; readonly key: string; readonly taskId: string }
  | { readonly op: 'leave'; readonly of: number };

/** A call of the client, and what it has told so far. */
export interface GoCall {
  readonly n: number;
  readonly lines: readonly Line[];
  readonly ended: Promise<GoEnd>;
}

/** The client in a process of its own. */
export class GoClient {
  private readonly child: ChildProcess;
  private readonly calls = new Map<number, { readonly lines: Line[]; readonly end: (end: GoEnd) => void }>();

  constructor(program: string) {
    this.child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.child.stdout! }).on('line', (text) => this.read(JSON.parse(text) as Line));
  }

  ask(asked: Asked): GoCall {
    const n = this.calls.size + 1;
    const lines: Line[] = [];
    const ended = new Promise<GoEnd>((end) => this.calls.set(n, { lines, end }));
    this.child.stdin!.write(`${JSON.stringify({ n, ...asked })}\n`);
    return { n, lines, ended };
  }

  async close(): Promise<void> {
    const exited = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.stdin!.end();
    await exited;
  }

  private read(line: Line): void {
    const call = this.calls.get(line.n)!;
    call.lines.push(line);
    if (line.end) call.end(line.end);
  }
}
