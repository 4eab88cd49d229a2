import pg from 'pg';
import { asKnownError, STATEMENT_MS } from './unavailable.js';

/** All tables live in this schema. */
export const SCHEMA = 'switchyard';
/** The role every process takes; see migration 0004. */
export const APP_ROLE = 'switchyard_app';
/** The role that alone may write the tree over the audit trail; see migration 0018. */
export const SEALER_ROLE = 'switchyard_sealer';

/**
 * Session settings of hot connections. Plans are made once, when tables may be tiny, and kept: without sequential scans
 * they stay on the indexes as tables grow. JIT costs more than any of these statements.
 */
const session = (role: string): string =>
  [
    `set role ${role}`,
    `set search_path to ${SCHEMA}`,
    'set enable_seqscan to off',
    'set jit to off',
    'set plan_cache_mode to force_generic_plan',
    'set idle_in_transaction_session_timeout to 30000',
    'set statement_timeout to 30000',
    // Sealing waits for the oldest open transaction: none may stay open for ever. Servers before 17 have no such setting.
    `select set_config(name, '30000', false) from pg_catalog.pg_settings where name = 'transaction_timeout'`,
  ].join('; ');

export interface PoolOptions {
  readonly databaseUrl: string;
  /** Connections at most; 1 and up. */
  readonly max: number;
  /** Shown in pg_stat_activity. */
  readonly name: string;
  /** How long a query may wait for a connection, in ms. */
  readonly waitMs?: number;
  /** How long a statement may take, in ms; the connection is given up with it. */
  readonly statementMs?: number;
  /** Absent: that of the application. */
  readonly role?: typeof APP_ROLE | typeof SEALER_ROLE;
}

/** A statement that is parsed and planned once per connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A small pool for named statements. Waiting, for a connection or for an answer, is bounded and ends as `unavailable`. */
export class Database {
  private readonly pool: pg.Pool;

  constructor(options: PoolOptions) {
    this.pool = new pg.Pool({
      connectionString: options.databaseUrl,
      max: options.max,
      application_name: `switchyard ${options.name}`,
      connectionTimeoutMillis: options.waitMs ?? 5_000,
      query_timeout: options.statementMs ?? STATEMENT_MS,
      idleTimeoutMillis: 0,
      keepAlive: true,
      // eslint-disable-next-line @typescript-eslint/no-misused-promises -- pg-pool awaits it, though its types say void.
      onConnect: async (client: pg.ClientBase) => void (await client.query(session(options.role ?? APP_ROLE))),
    });
    // An idle connection that dies is replaced at the next query, which reports what is wrong.
    this.pool.on('error', () => undefined);
  }

  async query<Row extends pg.QueryResultRow>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    try {
      const result = await this.pool.query<Row>({ ...statement, values: values as unknown[] });
      return result.rows;
    } catch (error) {
      throw asKnownError(error);
    }
  }

  /** Runs `work` in one transaction on one connection; rolls back when it throws. */
  async transaction<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.pool.connect().catch((error: unknown) => {
      throw asKnownError(error);
    });
    let broken: Error | undefined;
    // A connection that dies between two statements tells nobody else, and an error nobody hears ends the process.
    const onError = (error: Error): void => void (broken = error);
    client.on('error', onError);
    try {
      await client.query('begin');
      const result = await work(client);
      await client.query('commit');
      return result;
    } catch (error) {
      await client.query('rollback').catch((failure: Error) => (broken = failure));
      throw asKnownError(error);
    } finally {
      client.release(broken);
      client.off('error', onError);
    }
  }

  async close(): Promise<void> {
    await this.pool.end();
  }
}
