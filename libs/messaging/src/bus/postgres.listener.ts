import type { Logger } from '#lib/domain';
import pg from 'pg';
import { TroubleLog } from '../trouble.log.js';

const MAX_RETRY_MS = 1_000;
/** A connection that died without a word is noticed by the answer to this that does not come. */
const PING_MS = 10_000;

export interface ListenerOptions {
  readonly databaseUrl: string;
  readonly channel: string;
  readonly logger: Logger;
  readonly onPayload: (payload: string) => void;
  /** There was no connection for a while; LISTEN is in force now. */
  readonly onReconnect: () => void;
}

/** One connection that does nothing but LISTEN, and comes back by itself. It needs a session of its own: no transaction pooling. */
export class PostgresListener {
  private readonly trouble: TroubleLog;
  private readonly pinging: NodeJS.Timeout;
  private client: pg.Client | undefined;
  /** Gives `client` up for a new one. */
  private leave: ((error: Error) => void) | undefined;
  private retry: NodeJS.Timeout | undefined;
  private failures = 0;
  private lost = false;
  private closed = false;
  /** The first attempt has ended; later ones are not waited for: the reconnect notice covers them. */
  readonly first: Promise<void>;

  constructor(private readonly options: ListenerOptions) {
    this.trouble = new TroubleLog(options.logger, 'The bus listener has trouble');
    this.first = this.connect();
    this.pinging = setInterval(() => void this.ping().catch(this.trouble.report), PING_MS).unref();
  }

  async ping(): Promise<void> {
    await this.first;
    if (this.client === undefined) throw new Error('The bus listener is not connected.');
    const { leave } = this;
    await this.client.query('select 1').catch((error: Error) => {
      leave?.(error);
      throw error;
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.pinging);
    clearTimeout(this.retry);
    await this.first;
    await this.client?.end();
  }

  private async connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.options.databaseUrl,
      application_name: 'switchyard bus listener',
      connectionTimeoutMillis: 2_000,
      query_timeout: 2_000,
      keepAlive: true,
    });
    let gone = false;
    const leave = (error?: Error): void => {
      if (gone) return;
      gone = true;
      if (error && !this.closed) this.trouble.report(error);
      void client.end().catch(() => undefined);
      this.onGone(client);
    };
    client.on('error', leave);
    client.on('end', () => leave());
    client.on('notification', ({ payload }) => this.options.onPayload(payload ?? ''));
    try {
      await client.connect();
      await client.query(`listen ${client.escapeIdentifier(this.options.channel)}`);
    } catch (error) {
      return leave(error as Error);
    }
    this.client = client;
    this.leave = leave;
    this.failures = 0;
    if (this.lost) this.options.onReconnect();
    this.lost = false;
  }

  private onGone(client: pg.Client): void {
    if (this.client === client) this.client = undefined;
    if (this.closed) return;
    this.lost = true;
    this.failures += 1;
    this.retry = setTimeout(() => void this.connect(), Math.min(this.failures * 50, MAX_RETRY_MS));
  }
}
