import type { AuditEntry, ToolOffer } from '#lib/domain';
import { NO_METRICS } from '#lib/domain';
import { Database, PgToolStore } from '#lib/persistence';
import { GuardedOutbound, parseOutboundRules } from '#lib/security';
import { type StdioPolicy, type Tool, type ToolCall, ToolDirectory, type ToolSource } from '#lib/tools';
import { createDatabase, type TestDatabase } from './database.js';
import { MemoryEventBus } from './memory-event-bus.js';
import { SilentLogger } from './silent-logger.js';
import { until } from './until.js';

const AUDIT: AuditEntry = {
  tenant: 'default',
  principal: 'olga',
  keyId: 'k',
  action: 'tool.put',
  target: 't',
  outcome: 'allowed',
  details: '{}',
  requestId: 'r',
};

/** The tools of one process over a database of its own, with what calls and declares them. */
export class ToolBench {
  private calls = 0;

  private constructor(
    private readonly database: TestDatabase,
    private readonly pool: Database,
    readonly store: PgToolStore,
    readonly directory: ToolDirectory,
  ) {}

  /** Requests may go to 127.0.0.1. */
  static async open(options: { secrets?: Record<string, string>; stdio?: StdioPolicy } = {}): Promise<ToolBench> {
    const database = await createDatabase();
    const pool = new Database({ databaseUrl: database.url, max: 2, name: 'tools' });
    const store = new PgToolStore(pool);
    const rules = parseOutboundRules('*=127.0.0.1') ?? [];
    const directory = new ToolDirectory({
      store,
      bus: new MemoryEventBus(),
      logger: new SilentLogger(),
      metrics: NO_METRICS,
      outbound: new GuardedOutbound({ allowPublic: true, rules }),
      secrets: { variables: options.secrets ?? {}, directory: undefined },
      stdio: options.stdio ?? 'off',
      programPath: process.env.PATH ?? '',
      watcher: 'runtime:test',
      isWatching: true,
    });
    await directory.open();
    return new ToolBench(database, pool, store, directory);
  }

  async declare(source: ToolSource): Promise<void> {
    await this.store.change((tools) => {
      const replaces = tools.find(({ id }) => id === source.id)?.version;
      return { id: source.id, source: { ...source }, ...(replaces === undefined ? {} : { replaces }), audit: AUDIT };
    });
    await this.directory.refresh();
  }

  /** What is known of a tool of a server; undefined while nothing is. */
  offer(name: string): ToolOffer | undefined {
    return this.directory.stored().offers.find((offer) => offer.name === name);
  }

  /** Waits for an offer that `is` what is expected. */
  async offered(name: string, is: (offer: ToolOffer) => boolean = () => true): Promise<ToolOffer> {
    await until(
      async () => {
        await this.directory.refresh();
        const offer = this.offer(name);
        return offer !== undefined && is(offer);
      },
      { what: `an offer of ${name}` },
    );
    return this.offer(name)!;
  }

  async accept(name: string): Promise<Tool> {
    const { offered } = await this.offered(name);
    await this.store.accept(name, offered.digest, { ...AUDIT, action: 'tool.accept', target: name });
    await this.directory.refresh();
    return this.tool(name);
  }

  tool(name: string): Tool {
    const tool = this.directory.find(name, 'default');
    if (!tool) throw new Error(`there is no ${name}`);
    return tool;
  }

  /** Calls a tool; its error is the answer when it fails. */
  async call(name: string, args: object = {}, signal = new AbortController().signal): Promise<unknown> {
    this.calls += 1;
    const call: ToolCall = {
      input: '',
      signal,
      tenant: 'default',
      taskId: 'task',
      toolCallId: `call_${this.calls}`,
      idempotencyKey: `key.call_${this.calls}`,
    };
    return this.tool(name)
      .execute(args as Record<string, unknown>, call)
      .catch((error: unknown) => error);
  }

  /** Actions and targets of the records of servers, in order. */
  async seen(): Promise<readonly string[]> {
    const statement = {
      name: 'seen',
      text: `select action || ' ' || target as line from audit_records where principal = 'runtime:test' order by at`,
    };
    return (await this.pool.query<{ line: string }>(statement, [])).map(({ line }) => line);
  }

  async close(): Promise<void> {
    await this.directory.close();
    await this.pool.close();
    await this.database.drop();
  }
}
