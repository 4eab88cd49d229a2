import { afterEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createDatabase, type TestDatabase } from './database.js';

describe('a test database', () => {
  const open: TestDatabase[] = [];
  const create = async (...args: Parameters<typeof createDatabase>): Promise<TestDatabase> => {
    const database = await createDatabase(...args);
    open.push(database);
    return database;
  };
  afterEach(async () => {
    for (const database of open.splice(0)) await database.drop();
  });

  async function query(database: TestDatabase, sql: string): Promise<unknown[]> {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query<Record<string, unknown>>(sql);
    await client.end();
    return rows;
  }

  it('is UTF-8, sorted by bytes, and shares no table with another', async () => {
    const [one, two] = [await create({ empty: true }), await create({ empty: true })];
    await query(one, 'create table only_here ()');
    expect(await query(two, `select to_regclass('only_here') as found, getdatabaseencoding() as encoding`)).toEqual([
      { found: null, encoding: 'UTF8' },
    ]);
    expect(await query(two, `select 'a' < 'B' as lax`)).toEqual([{ lax: false }]);
  });

  it('fails its drop, yet is gone, when a connection was left open', async () => {
    const database = await createDatabase({ empty: true });
    const client = new pg.Client({ connectionString: database.url, application_name: 'forgotten' });
    client.on('error', () => undefined);
    await client.connect();
    await expect(database.drop()).rejects.toThrow('forgotten');
    await expect(database.drop()).resolves.toBeUndefined();
  });
});
