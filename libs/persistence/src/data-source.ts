import { DataSource } from 'typeorm';
import { MIGRATIONS } from '../../../migrations/index.js';
import { APP_ROLE, SCHEMA } from './database.js';
import { ApiKeyRow, SecretRow } from './entities/access.row.js';
import { AgentRow, AgentsFileRow, BackendVersionRow } from './entities/agent.row.js';
import { orUnavailable, STATEMENT_MS } from './unavailable.js';

export const ENTITIES = [AgentRow, AgentsFileRow, BackendVersionRow, ApiKeyRow, SecretRow];

/** What a session may take, as on the other connections; a server of its own time-out for transactions is not asked here. */
const TIMEOUTS = '-c idle_in_transaction_session_timeout=30000 -c statement_timeout=30000';

/** TypeORM's connections: plain reads and writes of administration tables. */
export async function openDataSource(databaseUrl: string): Promise<DataSource> {
  const limits = {
    connectionTimeoutMillis: 5_000,
    query_timeout: STATEMENT_MS,
    // TypeORM keeps a connection on which an answer never came; nobody has to wait on it for longer than this.
    maxLifetimeSeconds: 30,
    keepAlive: true,
  };
  const source = createDataSource(databaseUrl, {
    options: `-c search_path=${SCHEMA} -c role=${APP_ROLE} ${TIMEOUTS}`,
    ...limits,
  });
  return orUnavailable(source.initialize());
}

/** The owner's view, for migrations and for comparing entities with the schema. */
export function createOwnerDataSource(databaseUrl: string): DataSource {
  return createDataSource(databaseUrl, { options: `-c search_path=${SCHEMA}` });
}

function createDataSource(url: string, connection: Readonly<Record<string, unknown>>): DataSource {
  return new DataSource({
    type: 'postgres',
    url,
    schema: SCHEMA,
    entities: ENTITIES,
    migrations: MIGRATIONS,
    migrationsTableName: 'migrations',
    migrationsTransactionMode: 'all',
    synchronize: false,
    extra: { ...connection, max: 2, application_name: 'switchyard typeorm' },
  });
}
