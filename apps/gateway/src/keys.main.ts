import { isDomainError } from '#lib/domain';
import { Database, PgKeyStore } from '#lib/persistence';
import { SettingsError } from '#lib/platform';
import { readKeysConfig } from './config.js';
import { runKeys, UsageError } from './keys.cli.js';

async function main(): Promise<void> {
  const { databaseUrl, hasAdminKey } = readKeysConfig();
  const database = new Database({ databaseUrl, max: 1, name: 'keys' });
  try {
    const context = { keys: new PgKeyStore(database), hasAdminKey, nowMs: Date.now() };
    const text = await runKeys(process.argv.slice(2), context);
    if (text !== '') process.stdout.write(`${text}\n`);
  } finally {
    await database.close();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`);
  process.exitCode = 1;
});

function explain(error: unknown): string {
  if (error instanceof UsageError || error instanceof SettingsError || isDomainError(error)) return error.message;
  const { code, message } = error as { code?: string; message?: string };
  if (code === '42P01' || code === '3F000') return 'The database is not migrated: run npm run migrate first.';
  return `The keys cannot be reached: ${[code, message].filter(Boolean).join(' ')}`;
}
