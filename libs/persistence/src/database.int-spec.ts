import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createDatabase, type TestDatabase } from '../../../test/support/database.js';
import { Database } from './database.js';

let test: TestDatabase;
let database: Database;

beforeEach(async () => {
  test = await createDatabase();
  database = new Database({ databaseUrl: test.url, max: 2, name: 'test' });
});

afterEach(async () => {
  await database.close();
  await test.drop();
});

async function terminate(pid: number): Promise<void> {
  const owner = new pg.Client({ connectionString: test.url });
  await owner.connect();
  await owner.query('select pg_terminate_backend($1)', [pid]);
  await owner.end();
}

describe('a session', () => {
  it('keeps no transaction open for longer than 30 s, by the means the server has: sealing would wait for it', async () => {
    const rows = await database.query<{ name: string; setting: string; version: number }>(
      {
        name: 'test.limits',
        text: `select name, setting, current_setting('server_version_num')::int as version from pg_settings
          where name in ('transaction_timeout', 'idle_in_transaction_session_timeout', 'statement_timeout') order by name`,
      },
      [],
    );
    const own = rows[0]!.version >= 170_000 ? ['transaction_timeout'] : [];
    expect(rows.map(({ name, setting }) => [name, setting])).toEqual(
      ['idle_in_transaction_session_timeout', 'statement_timeout', ...own].map((name) => [name, '30000']),
    );
  });
});

describe('a transaction', () => {
  it('whose connection dies between two statements fails as unavailable, and the next one has another', async () => {
    const broken = database.transaction(async (client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      const ended = new Promise((resolve) => client.once('end', resolve));
      await terminate(rows[0]!.pid);
      await ended;
      await client.query('select 1');
    });
    await expect(broken).rejects.toMatchObject({ code: 'unavailable' });
    await expect(database.transaction((client) => client.query('select 1 as one'))).resolves.toMatchObject({
      rows: [{ one: 1 }],
    });
  });
});

describe('a text with U+0000', () => {
  it('is the fault of whoever sent it, in a statement and in a transaction', async () => {
    const refused = { code: 'invalid_request', name: 'DomainError' };
    const statement = { name: 'test.text', text: 'select $1::text as text' };
    await expect(database.query(statement, ['a\0b'])).rejects.toMatchObject(refused);
    const within = database.transaction((client) => client.query('select $1::text', ['a\0b']));
    await expect(within).rejects.toMatchObject(refused);
    await expect(database.query(statement, ['a'])).resolves.toEqual([{ text: 'a' }]);
  });
});
