// `npm run keys -- create | list | revoke`: API keys straight in the database, the embedded one where none is named.
import './node-version.mjs';
import { KEYS, runEntry } from './entry.mjs';
import { ensureInstalled } from './install.mjs';
import { isRunning, locateServer, startServer, stopServer } from './postgres/server.mjs';
import { checkDatabase } from './preflight.mjs';
import { prepareDataDir, readDatabases, readDataDir } from './settings.mjs';
import { fail } from './terminal.mjs';

async function onEmbedded(work) {
  const settings = readDataDir();
  prepareDataDir(settings);
  const server = locateServer(settings);
  const wasRunning = isRunning(server);
  await startServer(server);
  try {
    return await work({ DATABASE_URL: server.url });
  } finally {
    if (!wasRunning) await stopServer(server);
  }
}

try {
  const { databaseUrl } = readDatabases();
  await ensureInstalled();
  const { build } = await import('./build.mjs');
  await build();
  if (databaseUrl !== undefined) await checkDatabase('DATABASE_URL', databaseUrl);
  const run = (env) => runEntry(KEYS, process.argv.slice(2), env);
  process.stdout.write(`${await (databaseUrl === undefined ? onEmbedded(run) : run({}))}\n`);
} catch (error) {
  fail(error);
}
