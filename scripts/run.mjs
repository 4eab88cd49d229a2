// `npm run gateway | runtime | migrate`: one process alone, against the services its environment names.
import './node-version.mjs';
import './npm-watch.mjs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { MIGRATE } from './entry.mjs';
import { ensureInstalled } from './install.mjs';
import { checkDatabase, checkPort } from './preflight.mjs';
import { readAddress, readDatabases } from './settings.mjs';
import { fail, say } from './terminal.mjs';

const ENTRIES = {
  gateway: 'dist/apps/gateway/src/main.js',
  runtime: 'dist/apps/runtime/src/main.js',
  migrate: MIGRATE,
};

/** The process checks its environment itself; what is asked here gives an answer that names variable and remedy. */
async function lookAhead(name) {
  const { databaseUrl, migrationsUrl } = readDatabases();
  if (databaseUrl === undefined) return;
  await checkDatabase('DATABASE_URL', databaseUrl);
  if (name === 'migrate' && migrationsUrl !== databaseUrl)
    await checkDatabase('MIGRATIONS_DATABASE_URL', migrationsUrl);
  if (name === 'gateway' && process.env.PORT !== '0') await checkPort(readAddress());
}

try {
  const name = process.argv[2];
  await ensureInstalled();
  const { build } = await import('./build.mjs');
  await build();
  await lookAhead(name);
  if (name === 'migrate') say('… Migrate the database');
  const entry = path.resolve(import.meta.dirname, '..', ENTRIES[name]);
  process.argv.splice(1, 2, entry);
  await import(pathToFileURL(entry));
} catch (error) {
  fail(error);
}
