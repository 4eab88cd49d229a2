// `npm run keys -- create | list | revoke`: API keys straight in the database, the embedded one where none is named.
import './node-version.mjs';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { liveStart } from './earlier-start.mjs';
import { KEYS, MIGRATE, runEntry } from './entry.mjs';
import { ensureInstalled } from './install.mjs';
import { isUsed, locateServer, startServer, stopServer } from './postgres/server.mjs';
import { checkDatabase } from './preflight.mjs';
import { isStill } from './processes.mjs';
import { prepareDataDir, readDatabases, readDataDir } from './settings.mjs';
import { fail, stage } from './terminal.mjs';

/** One at a time: each may start the server, and stop it when nobody else needs it. */
async function takeTurn({ dataDir }) {
  const file = path.join(dataDir, 'keys.lock');
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const holder = Number(existsSync(file) && readFileSync(file, 'utf8'));
    if (holder > 0 && !isStill(holder, 'keys.mjs')) rmSync(file, { force: true });
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function onEmbedded(work) {
  const settings = readDataDir();
  prepareDataDir(settings);
  const giveWay = await takeTurn(settings);
  try {
    return await onRunning(settings, work);
  } finally {
    giveWay();
  }
}

async function onRunning(settings, work) {
  const server = locateServer(settings);
  const inUse = () => liveStart(settings) !== undefined;
  if (inUse()) await startServer(server);
  else await stage('Start the embedded PostgreSQL', () => startMigrated(server)); // this may be the first command of all
  try {
    return await work({ DATABASE_URL: server.url });
  } finally {
    if (!inUse() && !(await isUsed(server))) await stopServer(server);
  }
}

async function startMigrated(server) {
  await startServer(server);
  await runEntry(MIGRATE, [], { DATABASE_URL: server.url });
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
