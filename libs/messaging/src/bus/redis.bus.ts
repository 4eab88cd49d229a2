import { EventBus, type Frame, type Logger, type TaskKey, type TaskNews, type Unsubscribe } from '#lib/domain';
import type { Redis } from 'ioredis';
import { inOneWrite } from '../redis.client.js';
import type { RedisTraits } from '../redis.health.js';
import { TroubleLog } from '../trouble.log.js';
import { within } from '../within.js';
import { decodeTaskMessage, encodeLive, encodeNews, type TaskMessage } from './frames.codec.js';
import { RedisSubscriptions } from './redis.subscriptions.js';
import { Registry } from './registry.js';

export interface RedisBusOptions {
  readonly url: string;
  readonly commands: Redis;
  /** What is known of the server; undefined until it has answered. */
  readonly traits: () => RedisTraits | undefined;
  readonly prefix: string;
  readonly logger: Logger;
}

type Message = readonly [channel: string, text: string];

const RECONNECT = 'reconnect';
/** Whoever publishes is on its way to the next events: a server that hangs must not hold it up. */
const ANSWER_MS = 1_000;

/** Redis pub/sub, a channel per task. */
export class RedisBus extends EventBus {
  private readonly tasks: Registry<TaskMessage>;
  private readonly signals: Registry<string>;
  private readonly reconnects: Registry<void>;
  private readonly subscriptions: RedisSubscriptions;
  private readonly trouble: TroubleLog;
  private readonly taskPrefix: string;
  private readonly signalPrefix: string;
  private closed = false;

  constructor(private readonly options: RedisBusOptions) {
    super();
    const { logger, prefix, url } = options;
    this.taskPrefix = `${prefix}:task:`;
    this.signalPrefix = `${prefix}:signal:`;
    this.tasks = new Registry(logger);
    this.signals = new Registry(logger);
    this.reconnects = new Registry(logger);
    this.trouble = new TroubleLog(logger, 'News could not be published');
    this.subscriptions = new RedisSubscriptions({
      url,
      logger,
      onMessage: (channel, message) => this.onMessage(channel, message),
      onReconnect: () => this.reconnects.emit(RECONNECT, undefined),
    });
  }

  override publish(news: readonly TaskNews[]): Promise<void> {
    return this.send(news.map((item) => [this.taskPrefix + item.taskKey, encodeNews(item)]));
  }

  override publishLive(taskKey: TaskKey, frame: Frame): Promise<void> {
    return this.send([[this.taskPrefix + taskKey, encodeLive(frame)]]);
  }

  override signal(channel: string, message: string): Promise<void> {
    return this.send([[this.signalPrefix + channel, message]]);
  }

  override subscribe(taskKey: TaskKey, listener: (message: TaskMessage) => void): Promise<Unsubscribe> {
    return this.hold(this.taskPrefix + taskKey, this.tasks.add(taskKey, listener));
  }

  override listen(channel: string, listener: (message: string) => void): Promise<Unsubscribe> {
    return this.hold(this.signalPrefix + channel, this.signals.add(channel, listener));
  }

  override onReconnect(listener: () => void): Unsubscribe {
    return this.reconnects.add(RECONNECT, listener);
  }

  override async ping(): Promise<void> {
    await within(ANSWER_MS, this.options.commands.ping());
    const problem = this.options.traits()?.problem;
    if (problem !== undefined) throw new Error(problem);
  }

  override async close(): Promise<void> {
    this.closed = true;
    this.subscriptions.close();
  }

  private async hold(channel: string, remove: Unsubscribe): Promise<Unsubscribe> {
    const release = await this.subscriptions.acquire(channel);
    return () => {
      remove();
      release();
    };
  }

  private async send(messages: readonly Message[]): Promise<void> {
    if (this.closed) throw new Error('The bus is closed.');
    const { commands, traits } = this.options;
    const sharded = traits()?.sharded;
    // Dropped: the tail check of whoever listens finds it in the log.
    if (commands.status !== 'ready' || sharded === undefined) return;
    const publish = ([channel, text]: Message): Promise<unknown> =>
      sharded ? commands.spublish(channel, text) : commands.publish(channel, text);
    await within(
      ANSWER_MS,
      inOneWrite(commands, () => Promise.all(messages.map(publish))),
    ).catch(this.trouble.report);
  }

  private onMessage(channel: string, text: string): void {
    if (channel.startsWith(this.taskPrefix)) {
      const taskKey = channel.slice(this.taskPrefix.length) as TaskKey;
      if (!this.tasks.has(taskKey)) return;
      const message = decodeTaskMessage(taskKey, text);
      if (message !== undefined) this.tasks.emit(taskKey, message);
    } else {
      this.signals.emit(channel.slice(this.signalPrefix.length), text);
    }
  }
}
