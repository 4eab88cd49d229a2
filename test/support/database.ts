import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { assertProjections } from './projections.js';
import { until } from './until.js';

export interface TestDatabase {
  url: string;
  /**
   * Drops the database. Fails when the tests left a connection to it open, and when the rows of any task in it are not
   * what its events say.
   */
  drop(): Promise<void>;
}

const TEMPLATE = 'switchyard_template';

function serverUrl(): string {
  const url = process.env.TEST_DATABASE_URL;
  if (url === undefined) throw new Error('TEST_DATABASE_URL is not set: run this suite through jest.config.mjs');
  return url;
}

async function onServer<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: serverUrl() });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

interface Session {
  application_name: string;
  query: string;
}

async function sessions(client: pg.Client, name: string): Promise<Session[]> {
  const sql = `select application_name, left(query, 200) as query from pg_stat_activity where datname = $1 and backend_type = 'client backend'`;
  return (await client.query<Session>(sql, [name])).rows;
}

async function drop(client: pg.Client, name: string): Promise<void> {
  let left: Session[] = [];
  const closed = async (): Promise<boolean> => (left = await sessions(client, name)).length === 0;
  await until(closed, { timeoutMs: 2_000 }).catch(() => undefined);
  await client.query(`drop database if exists ${name} with (force)`);
  if (left.length > 0) throw new Error(`Connections left open by the tests: ${JSON.stringify(left)}`);
}

/** A database of one's own: a clone of the migrated template, or an empty one. */
export async function createDatabase({ empty = false }: { empty?: boolean } = {}): Promise<TestDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`;
  await onServer((client) => client.query(`create database ${name} template ${empty ? 'template1' : TEMPLATE}`));
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => {
      try {
        if (!empty) await assertProjections(url.href);
      } finally {
        await onServer((client) => drop(client, name));
      }
    },
  };
}
