import { setUpCheckpoints } from '#lib/adapters/workflow';
import { isDomainError, redactSecrets } from '#lib/domain';
import { migrateQueue, QUEUE_SCHEMA } from '#lib/messaging';
import { migrate } from '#lib/persistence';
import { SettingsError } from '#lib/platform';
import { readConfig } from './config.js';

async function main(): Promise<void> {
  const others = [{ schema: QUEUE_SCHEMA, migrate: migrateQueue }, { migrate: setUpCheckpoints }];
  const applied = await migrate({ ...readConfig(), others });
  process.stdout.write(applied.length === 0 ? 'The database is up to date.\n' : `Applied ${applied.join(', ')}.\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${redactSecrets(explain(error))}\n`);
  process.exitCode = 1;
});

/** One line for the person who started this; what the driver says of a connection is meant for them. */
function explain(error: unknown): string {
  if (isDomainError(error) || error instanceof SettingsError) return error.message;
  const { code, message } = error as { code?: string; message?: string };
  return `Migration failed: ${[code, message].filter(Boolean).join(' ')}`;
}
