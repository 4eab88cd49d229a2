import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.js';
import { until } from './until.js';

/** A Redis of one's own, to stop, freeze and start again. It keeps nothing over a restart. */
export class RedisServer {
  private readonly dir = mkdtempSync(path.join(tmpdir(), 'switchyard-redis-'));
  private process: ChildProcess | undefined;

  private constructor(readonly port: number) {}

  static async start(...settings: string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort());
    await server.start(...settings);
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(...settings: string[]): Promise<void> {
    const args = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--dir', this.dir, ...settings];
    this.process = spawn('redis-server', args, { stdio: 'ignore' });
    await until(() => this.run((redis) => redis.ping()), { what: 'an answer of redis-server' });
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    const { process } = this;
    this.process = undefined;
    if (process === undefined) return;
    const ended = once(process, 'exit');
    process.kill('SIGKILL');
    await ended;
  }

  /** It keeps its connections and answers nothing. */
  freeze(): void {
    this.process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.process?.kill('SIGCONT');
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Runs commands on a connection of their own. */
  async run<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(this.port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  }
}
