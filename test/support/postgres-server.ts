import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

const PROGRAM = path.resolve(import.meta.dirname, 'postgres-program.mjs');

/** A PostgreSQL of one's own, with a migrated database, to stop, crash and start again. It keeps its data over that. */
export class PostgresServer {
  private constructor(
    private readonly program: ChildProcess,
    /** The migrated database; the same after every start. */
    readonly url: string,
  ) {}

  static async start(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
    const program = fork(PROGRAM, [JSON.stringify(settings)], { execArgv: [] });
    const [{ url }] = (await answer(program)) as [{ url: string }];
    return new PostgresServer(program, url);
  }

  async start(): Promise<void> {
    await this.order({ command: 'start' });
  }

  /** Resolves when it is down: every connection is cut, nothing that was committed is lost. */
  async stop(how: 'in order' | 'as a crash'): Promise<void> {
    await this.order({ command: 'stop', signal: how === 'in order' ? 'SIGINT' : 'SIGQUIT' });
  }

  async remove(): Promise<void> {
    const ended = once(this.program, 'exit');
    this.program.disconnect();
    await ended;
  }

  private async order(order: { command: string; signal?: NodeJS.Signals }): Promise<void> {
    const done = answer(this.program);
    this.program.send(order);
    await done;
  }
}

async function answer(program: ChildProcess): Promise<unknown[]> {
  const settled = new AbortController();
  const { signal } = settled;
  const failed = once(program, 'exit', { signal }).then(([code]) => {
    throw new Error(`The program of a PostgreSQL ended with ${String(code)}`);
  });
  try {
    return await Promise.race([once(program, 'message', { signal }), failed]);
  } finally {
    settled.abort();
    failed.catch(() => undefined);
  }
}
