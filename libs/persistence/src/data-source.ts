import { DataSource } from 'typeorm';
import { MIGRATIONS } from '../../../migrations/index.js';
import { APP_ROLE, SCHEMA } from './database.js';
import { ApiKeyRow, SecretRow } from './entities/access.row.js';
import { AgentRow, AgentsFileRow, BackendVersionRow } from './entities/agent.row.js';

export const ENTITIES = [AgentRow, AgentsFileRow, BackendVersionRow, ApiKeyRow, SecretRow];

/** TypeORM's connections: plain reads and writes of administration tables. */
export async function openDataSource(databaseUrl: string): Promise<DataSource> {
  return createDataSource(databaseUrl, `-c search_path=${SCHEMA} -c role=${APP_ROLE}`).initialize();
}

/** The owner's view, for migrations and for comparing entities with the schema. */
export function createOwnerDataSource(databaseUrl: string): DataSource {
  return createDataSource(databaseUrl, `-c search_path=${SCHEMA}`);
}

function createDataSource(url: string, options: string): DataSource {
  return new DataSource({
    type: 'postgres',
    url,
    schema: SCHEMA,
    entities: ENTITIES,
    migrations: MIGRATIONS,
    migrationsTableName: 'migrations',
    migrationsTransactionMode: 'all',
    synchronize: false,
    extra: { max: 2, options, application_name: 'switchyard typeorm' },
  });
}
