import type { Logger, Unsubscribe } from '#lib/domain';
import type { Redis } from 'ioredis';
import { createCommandClient, inOneWrite } from '../redis.client.js';
import { inspectRedis } from '../redis.health.js';
import { TroubleLog } from '../trouble.log.js';

/** A channel nobody listens to any more is kept a while: a client that reconnects finds it in force. */
const LINGER_MS = 2_000;
const SWEEP_MS = 500;

interface Channel {
  holders: number;
  /** Resolves when the server has confirmed the channel, or cannot for now. */
  readonly inForce: Promise<void>;
}

export interface SubscriptionsOptions {
  readonly url: string;
  readonly logger: Logger;
  readonly onMessage: (channel: string, message: string) => void;
  /** There was no connection for a while; all channels are in force now. */
  readonly onReconnect: () => void;
}

/** The channels this process holds at Redis, on one connection: counted, kept a while, taken up again after a loss. */
export class RedisSubscriptions {
  private readonly redis: Redis;
  private readonly trouble: TroubleLog;
  private readonly channels = new Map<string, Channel>();
  private readonly idleSinceMs = new Map<string, number>();
  private readonly sweeping: NodeJS.Timeout;
  /** Undefined while there is no connection. */
  private sharded: boolean | undefined;
  private lost = false;
  private settleFirst: () => void = () => undefined;
  /** The first attempt to connect has ended. Later ones are not waited for: the reconnect notice covers them. */
  private readonly first = new Promise<void>((resolve) => (this.settleFirst = resolve));

  constructor(private readonly options: SubscriptionsOptions) {
    this.trouble = new TroubleLog(options.logger, 'The bus subscriber has trouble');
    this.redis = createCommandClient(options.url, 'swy:subscriber');
    this.redis.on('error', this.trouble.report);
    this.redis.on('ready', () => {
      this.attach().catch(this.trouble.report).finally(this.settleFirst);
    });
    this.redis.on('close', () => this.detach());
    this.redis.on('message', options.onMessage);
    this.redis.on('smessage', options.onMessage);
    this.sweeping = setInterval(() => this.sweep(), SWEEP_MS).unref();
  }

  /** Resolves when the channel is in force; without a connection at once, and the reconnect notice follows. */
  async acquire(name: string): Promise<Unsubscribe> {
    let channel = this.channels.get(name);
    if (channel === undefined) {
      channel = { holders: 0, inForce: this.request(name) };
      this.channels.set(name, channel);
    }
    channel.holders += 1;
    this.idleSinceMs.delete(name);
    await channel.inForce;
    return this.releaseOnce(name, channel);
  }

  close(): void {
    clearInterval(this.sweeping);
    this.redis.disconnect();
    this.settleFirst();
  }

  private releaseOnce(name: string, channel: Channel): Unsubscribe {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      channel.holders -= 1;
      if (channel.holders === 0) this.idleSinceMs.set(name, performance.now());
    };
  }

  private async request(name: string): Promise<void> {
    await this.first;
    // A loss meanwhile is not the subscriber's failure: the channel is taken up again with the connection.
    if (this.sharded !== undefined) await this.subscribe(name).catch(this.trouble.report);
  }

  private subscribe(name: string): Promise<unknown> {
    return inOneWrite(this.redis, () => (this.sharded ? this.redis.ssubscribe(name) : this.redis.subscribe(name)));
  }

  private async attach(): Promise<void> {
    const { sharded } = await inspectRedis(this.redis);
    // From here on new channels ask for themselves; those known by now are taken up below.
    this.sharded = sharded;
    await Promise.all([...this.channels.keys()].map((name) => this.subscribe(name)));
    if (this.lost) this.options.onReconnect();
    this.lost = false;
  }

  private detach(): void {
    this.lost = true;
    this.sharded = undefined;
    this.settleFirst();
  }

  private sweep(): void {
    const before = performance.now() - LINGER_MS;
    const names: string[] = [];
    for (const [name, sinceMs] of this.idleSinceMs) if (sinceMs <= before) names.push(name);
    if (names.length === 0) return;
    for (const name of names) {
      this.idleSinceMs.delete(name);
      this.channels.delete(name);
    }
    if (this.sharded === undefined) return;
    const done = this.sharded ? this.redis.sunsubscribe(...names) : this.redis.unsubscribe(...names);
    done.catch(this.trouble.report);
  }
}
