import { DataSource } from 'typeorm';
import { MIGRATIONS } from '../../../migrations/index.js';
import { SCHEMA } from './database.js';

/** The owner's connections, for migrations. */
export function createOwnerDataSource(databaseUrl: string): DataSource {
  return new DataSource({
    type: 'postgres',
    url: databaseUrl,
    schema: SCHEMA,
    migrations: MIGRATIONS,
    migrationsTableName: 'migrations',
    migrationsTransactionMode: 'all',
    synchronize: false,
    extra: { options: `-c search_path=${SCHEMA}`, max: 2, application_name: 'switchyard typeorm' },
  });
}
