import { EventBus, type Frame, type Logger, type TaskKey, type TaskNews, type Unsubscribe } from '#lib/domain';
import { Batcher } from '#lib/platform';
import pg from 'pg';
import { TroubleLog } from '../trouble.log.js';
import { decodeTaskMessage, encodeLive, type TaskMessage } from './frames.codec.js';
import { decodePayload, encodeLivePayload, encodeNewsPayloads, encodeSignalPayload } from './notify.codec.js';
import { PostgresListener } from './postgres.listener.js';
import { Registry } from './registry.js';

/** One channel for all: a database has one queue of notifications anyway. */
const CHANNEL = 'switchyard';
const RECONNECT = 'reconnect';
const MAX_BATCH = 1_000;

/**
 * LISTEN/NOTIFY as wake-up. NOTIFY never runs in a transaction that writes, since those would then commit one by one,
 * but as a statement of its own on a connection of its own.
 */
export class PostgresBus extends EventBus {
  private readonly tasks: Registry<TaskMessage>;
  private readonly signals: Registry<string>;
  private readonly reconnects: Registry<void>;
  private readonly listener: PostgresListener;
  private readonly pool: pg.Pool;
  private readonly trouble: TroubleLog;
  private readonly payloads: Batcher<string, void>;
  private closed = false;

  constructor({ databaseUrl, logger }: { readonly databaseUrl: string; readonly logger: Logger }) {
    super();
    this.tasks = new Registry(logger);
    this.signals = new Registry(logger);
    this.reconnects = new Registry(logger);
    this.trouble = new TroubleLog(logger, 'News could not be published');
    this.payloads = new Batcher((payloads) => this.notify(payloads), MAX_BATCH);
    this.pool = new pg.Pool({
      connectionString: databaseUrl,
      application_name: 'switchyard bus',
      max: 1,
      idleTimeoutMillis: 0,
      connectionTimeoutMillis: 1_000,
      query_timeout: 2_000,
      keepAlive: true,
    });
    this.pool.on('error', this.trouble.report);
    this.listener = new PostgresListener({
      databaseUrl,
      channel: CHANNEL,
      logger,
      onPayload: (payload) => this.onPayload(payload),
      onReconnect: () => this.reconnects.emit(RECONNECT, undefined),
    });
  }

  override publish(news: readonly TaskNews[]): Promise<void> {
    return this.send(encodeNewsPayloads(news));
  }

  override publishLive(taskKey: TaskKey, frame: Frame): Promise<void> {
    return this.send([encodeLivePayload(taskKey, encodeLive(frame))]);
  }

  override signal(channel: string, message: string): Promise<void> {
    return this.send([encodeSignalPayload(channel, message)]);
  }

  override async subscribe(taskKey: TaskKey, listener: (message: TaskMessage) => void): Promise<Unsubscribe> {
    const remove = this.tasks.add(taskKey, listener);
    await this.listener.first;
    return remove;
  }

  override async listen(channel: string, listener: (message: string) => void): Promise<Unsubscribe> {
    const remove = this.signals.add(channel, listener);
    await this.listener.first;
    return remove;
  }

  override onReconnect(listener: () => void): Unsubscribe {
    return this.reconnects.add(RECONNECT, listener);
  }

  override async ping(): Promise<void> {
    await Promise.all([this.listener.ping(), this.pool.query('select 1')]);
  }

  override async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await Promise.all([this.listener.close(), this.pool.end()]);
  }

  private async send(payloads: readonly (string | undefined)[]): Promise<void> {
    if (this.closed) throw new Error('The bus is closed.');
    const sent = payloads.filter((payload) => payload !== undefined);
    await Promise.all(sent.map((payload) => this.payloads.add(payload)));
  }

  /** A failure is logged and forgotten: the tail check of whoever listens finds the news in the log. */
  private async notify(payloads: readonly string[]): Promise<void[]> {
    await this.pool
      .query({
        name: 'notify',
        text: 'select pg_notify($1, payload) from unnest($2::text[]) as payload',
        values: [CHANNEL, payloads],
      })
      .catch(this.trouble.report);
    return [];
  }

  private onPayload(payload: string): void {
    const notification = decodePayload(payload);
    switch (notification.kind) {
      case 'news':
        for (const news of notification.news) this.tasks.emit(news.taskKey, news);
        break;
      case 'live':
        this.onLive(notification.taskKey, notification.text);
        break;
      case 'signal':
        this.signals.emit(notification.channel, notification.message);
        break;
    }
  }

  private onLive(taskKey: TaskKey, text: string): void {
    const message = this.tasks.has(taskKey) ? decodeTaskMessage(taskKey, text) : undefined;
    if (message !== undefined) this.tasks.emit(taskKey, message);
  }
}
