// A PostgreSQL of one test's own, which it may stop, crash and start again by messages. It goes when its test goes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, rmSync } from 'node:fs';
import path from 'node:path';
import { freePort } from '../../scripts/free-port.mjs';
import { clusterUrl, ensureCluster } from '../../scripts/postgres/cluster.mjs';
import { asUser, serverUser } from '../../scripts/postgres/user.mjs';
import { answers, makeDatabase, POSTGRES_SETTINGS, postgresBinaries, query, temporaryDir } from './services.mjs';

const user = serverUser();
const bin = postgresBinaries(user);
const dir = temporaryDir(user);
await ensureCluster({ home: dir, bin, user }, '--no-sync');
const port = await freePort();
const url = clusterUrl(dir, port, 'postgres');
const settings = { ...POSTGRES_SETTINGS, ...JSON.parse(process.argv[2]) };
const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
const log = openSync(path.join(dir, 'log'), 'a');
let server;

const COMMANDS = {
  async start() {
    server = spawn(
      path.join(bin, 'postgres'),
      ['-D', path.join(dir, 'cluster'), '-p', String(port), ...args],
      // A session of its own, so that a Ctrl-C at the terminal does not end it under its test.
      { ...asUser(user), env: { LC_ALL: 'C', TZ: 'UTC' }, stdio: ['ignore', log, log], detached: true },
    );
    await answers(() => query(url, 'select 1'), 'the PostgreSQL of a test');
  },
  async stop(signal) {
    const ended = once(server, 'exit');
    server.kill(signal);
    await ended;
  },
};

process.on('message', async ({ command, signal }) => {
  await COMMANDS[command](signal);
  process.send({ done: command });
});
process.once('disconnect', async () => {
  if (server.exitCode === null) await COMMANDS.stop('SIGQUIT');
  rmSync(dir, { recursive: true, force: true });
});

await COMMANDS.start();
process.send({ url: await makeDatabase(url, 'switchyard') });
