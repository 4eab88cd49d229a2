import { runMigrations } from 'bullmq';
import pg from 'pg';

/** Where BullMQ keeps its tables. */
export const QUEUE_SCHEMA = 'bullmq';

/** Brings the queue's tables up to date; safe to repeat. The caller holds the lock that keeps other migrators out. */
export async function migrateQueue(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'switchyard migrate queue' });
  await client.connect();
  try {
    await runMigrations(client, QUEUE_SCHEMA);
  } finally {
    await client.end();
  }
}
