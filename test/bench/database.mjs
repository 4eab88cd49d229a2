// A database of its own for each side, on the one server.
import pg from 'pg';

async function run(connectionString, sql) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(sql);
  await client.end();
}

/** Answers the address of a new database, with the tables of `schema`. */
export async function createDatabase({ postgres }, name, schema = '') {
  await run(postgres.url, `create database ${name}`);
  const url = new URL(postgres.url);
  url.pathname = `/${name}`;
  await run(url.href, schema);
  return url.href;
}
