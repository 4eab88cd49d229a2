import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from './free-port.js';
import { until } from './until.js';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** A key with every scope, which gateways create when they start. */
export const ADMIN_KEY = `swy_admin_${'a'.repeat(40)}`;

export interface InstallationOptions {
  databaseUrl: string;
  redisUrl?: string | undefined;
  gateways: number;
  runtimes: number;
  env?: Record<string, string>;
}

/** One gateway or runtime, as a process of its own. */
export class Member {
  private output = '';
  private isUp = false;
  /** It was ready and has ended by itself, with an exit code. */
  hasFailed = false;
  readonly exited: Promise<number | null>;

  constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {
    child.stdout?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.exited = new Promise((resolve) => child.once('exit', resolve));
    void this.exited.then((code) => {
      if (code === null || !this.isUp) return;
      // Nobody killed it and nobody asked it to stop: whatever fails after this, here is why.
      this.hasFailed = true;
      process.stderr.write(`${this.url} ended by itself with ${code}\n${this.log}\n`);
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** The end of what it printed. */
  get log(): string {
    return this.output.slice(-8_000);
  }

  /** All it printed, on either stream. */
  get printed(): string {
    return this.output;
  }

  async ready(): Promise<void> {
    let hasEnded = false;
    void this.exited.then(() => (hasEnded = true));
    const answers = async (): Promise<boolean> => hasEnded || (await fetch(`${this.url}/health/ready`)).ok;
    await until(answers, { timeoutMs: 90_000, what: `${this.url} to be ready` }).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.log}`);
    });
    if (hasEnded) throw new Error(`ended with ${this.child.exitCode} before it was ready\n${this.log}`);
    this.isUp = true;
  }

  /** Sends a signal, unless the process has ended. */
  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Sends a signal and waits for the process to end. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    this.isUp = false;
    this.child.kill(signal);
    return this.exited;
  }
}

/** Gateways and runtimes as separate processes over given services, like a production installation in small. */
export class Installation {
  readonly gateways: Member[] = [];
  readonly runtimes: Member[] = [];
  private readonly launched: Member[] = [];
  private readonly dataDir = mkdtempSync(path.join(tmpdir(), 'switchyard-installation-'));

  private constructor(private readonly options: InstallationOptions) {}

  static async start(options: InstallationOptions): Promise<Installation> {
    const installation = new Installation(options);
    try {
      const gateways = Array.from({ length: options.gateways }, () => installation.addGateway());
      const runtimes = Array.from({ length: options.runtimes }, () => installation.addRuntime());
      await Promise.all([...gateways, ...runtimes]);
      return installation;
    } catch (error) {
      await installation.stop();
      throw error;
    }
  }

  /** Addresses of processes that have ended by themselves. */
  get casualties(): readonly string[] {
    return this.launched.filter(({ hasFailed }) => hasFailed).map(({ url }) => url);
  }

  async addGateway(env: Record<string, string> = {}): Promise<Member> {
    const port = await freePort();
    const member = this.launch('gateway', port, { PORT: String(port), ADMIN_API_KEY: ADMIN_KEY, ...env });
    this.gateways.push(member);
    await member.ready();
    return member;
  }

  async addRuntime(env: Record<string, string> = {}): Promise<Member> {
    const port = await freePort();
    const member = this.launch('runtime', port, { HEALTH_PORT: String(port), ...env });
    this.runtimes.push(member);
    await member.ready();
    return member;
  }

  /** Ends every process, in order, and fails when one did not end by itself. */
  async stop(): Promise<void> {
    const members = [...this.runtimes, ...this.gateways];
    await Promise.all(members.map((member) => member.end('SIGTERM')));
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  private launch(name: 'gateway' | 'runtime', port: number, env: Record<string, string>): Member {
    const child = spawn(process.execPath, [path.join(ROOT, `dist/apps/${name}/src/main.js`)], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: this.options.databaseUrl,
        ...(this.options.redisUrl === undefined ? {} : { REDIS_URL: this.options.redisUrl }),
        DATA_DIR: this.dataDir,
        DRAIN_SECONDS: '2',
        EXTRA_ADAPTERS: path.join(ROOT, 'dist/test/support/scripted/index.js'),
        AGENTS_FILE: path.join(ROOT, 'test/support/scripted/agents.yaml'),
        ...this.options.env,
        ...env,
      },
    });
    const member = new Member(`http://127.0.0.1:${port}`, child);
    this.launched.push(member);
    return member;
  }
}

/** A JSON request with the admin key, or another. */
export async function call(
  url: string,
  options: { method?: string; body?: unknown; key?: string; headers?: Record<string, string> } = {},
): Promise<{ status: number; headers: Headers; body: Record<string, unknown> }> {
  const { method = options.body === undefined ? 'GET' : 'POST', body, key = ADMIN_KEY, headers } = options;
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text ? (JSON.parse(text) as Record<string, unknown>) : {},
  };
}
