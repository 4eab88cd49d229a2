import { DataSource } from 'typeorm';
import { MIGRATIONS } from '../../../migrations/index.js';
import { SCHEMA } from './database.js';
import { ApiKeyRow, SecretRow } from './entities/access.row.js';
import { AgentRow, AgentsFileRow, BackendVersionRow } from './entities/agent.row.js';

const ENTITIES = [AgentRow, AgentsFileRow, BackendVersionRow, ApiKeyRow, SecretRow];

/** The owner's view, for migrations and for comparing entities with the schema. */
export function createOwnerDataSource(databaseUrl: string): DataSource {
  return new DataSource({
    type: 'postgres',
    url: databaseUrl,
    schema: SCHEMA,
    entities: ENTITIES,
    migrations: MIGRATIONS,
    migrationsTableName: 'migrations',
    migrationsTransactionMode: 'all',
    synchronize: false,
    extra: { options: `-c search_path=${SCHEMA}`, max: 2, application_name: 'switchyard typeorm' },
  });
}
