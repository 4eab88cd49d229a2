// Looks at what the processes will need before they start, so that a wrong setting is one line that names it.
import { createServer } from 'node:net';
import { UserError } from './terminal.mjs';

const OLDEST_POSTGRES = 15;
const TIMEOUT_MS = 10_000;
const STARTING_UP = '57P03';

const PORT_ERRORS = {
  EADDRINUSE: ({ port, host }) =>
    `PORT ${port} is taken on ${host}: stop the program that uses it, or set another, for example PORT=${port + 1} npm start`,
  EACCES: ({ port }) => `PORT ${port} needs rights this user does not have: set one above 1023, for example PORT=3000`,
  EADDRNOTAVAIL: ({ host }) =>
    `HOST ${host} is no address of this machine: set HOST to one that is, for example 127.0.0.1 or 0.0.0.0`,
  ENOTFOUND: ({ host }) =>
    `HOST ${host} is no known name: set HOST to an address of this machine, for example 127.0.0.1 or 0.0.0.0`,
};

export function checkPort({ port, host }) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error) =>
      reject(PORT_ERRORS[error.code] ? new UserError(PORT_ERRORS[error.code]({ port, host })) : error),
    );
    server.listen(port, host, () => server.close(resolve));
  });
}

function place(url) {
  const { hostname, port } = new URL(url);
  return `${hostname || 'localhost'}:${port || 5432}`;
}

const DATABASE_ERRORS = {
  '28P01': () => 'the server refuses user or password: correct them',
  28000: () => 'the server refuses this user or the kind of connection: correct the user, or add ?sslmode=require',
  '3D000': (url) =>
    `the database "${new URL(url).pathname.slice(1)}" does not exist: create it (encoding UTF8) or name another`,
  53300: () => 'the server has no connection left: raise its max_connections or close some',
};

function databaseProblem(url, error) {
  const known = DATABASE_ERRORS[error.code];
  if (known !== undefined) return known(url);
  // What Node tries on several addresses fails as a whole, with the causes inside.
  const cause = error.code ?? error.errors?.[0]?.code ?? error.message;
  return `no PostgreSQL answers at ${place(url)} (${cause}): start it there or correct the address`;
}

async function inspect(url) {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: TIMEOUT_MS });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const sql = `select current_setting('server_version_num')::int / 10000 as major, getdatabaseencoding() as encoding`;
    return (await client.query(sql)).rows[0];
  } finally {
    await client.end();
  }
}

async function inspectOnceUp(url) {
  const deadlineMs = performance.now() + 60_000;
  for (;;) {
    try {
      return await inspect(url);
    } catch (error) {
      if (error.code !== STARTING_UP || performance.now() > deadlineMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

export async function checkDatabase(name, url) {
  let found;
  try {
    found = await inspectOnceUp(url);
  } catch (error) {
    throw new UserError(`${name}: ${databaseProblem(url, error)}`);
  }
  if (found.major < OLDEST_POSTGRES) {
    throw new UserError(`${name}: PostgreSQL ${found.major} is too old: use ${OLDEST_POSTGRES} or newer`);
  }
  if (found.encoding !== 'UTF8') {
    throw new UserError(`${name}: the database has the encoding ${found.encoding}: create one with encoding UTF8`);
  }
  return { note: `PostgreSQL ${found.major} at ${place(url)}` };
}

export async function checkRedis(url) {
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let cause;
  redis.on('error', (error) => (cause = error));
  try {
    await redis.connect();
    await redis.ping();
  } catch (error) {
    const reason = cause?.code ?? cause?.message ?? error.message;
    throw new UserError(
      `REDIS_URL: no Redis answers there (${reason}): start it, correct the address, or leave REDIS_URL out to do without`,
    );
  } finally {
    redis.disconnect();
  }
}
