import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UNPROJECTED_COLUMNS } from '#lib/domain';
import { MIGRATIONS } from '../../../migrations/index.js';
import { ownerClient } from '../../../test/support/aged-task.js';
import { createDatabase, type TestDatabase } from '../../../test/support/database.js';
import { createOwnerDataSource } from './data-source.js';
import { migrate, pendingMigrations } from './migrate.js';
import { SNAPSHOT_COLUMNS } from './stores/task.rows.js';

describe('migrate', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createDatabase({ empty: true });
  });

  afterAll(async () => {
    await test.drop();
  });

  it('brings an empty database up to date once, whoever runs it and however many at a time', async () => {
    expect(await pendingMigrations(test.url)).toHaveLength(MIGRATIONS.length);
    const options = { ownerUrl: test.url, databaseUrl: test.url };
    const applied = await Promise.all([migrate(options), migrate(options), migrate(options)]);
    expect(applied.map((names) => names.length).sort()).toEqual([0, 0, MIGRATIONS.length]);
    expect(await pendingMigrations(test.url)).toEqual([]);
  });

  it('writes how long tasks are kept where it is told, and changes nothing where it is not', async () => {
    const options = { ownerUrl: test.url, databaseUrl: test.url };
    const terms = async (table: string): Promise<Record<string, number>> => {
      const owner = await ownerClient(test.url);
      const { rows } = await owner.query<{ tenant: string; days: number }>(`select tenant, days from ${table}`);
      await owner.end();
      return Object.fromEntries(rows.map(({ tenant, days }) => [tenant, days]));
    };
    const tenants = (entries: Record<string, number>) => ({ tenants: new Map(Object.entries(entries)) });
    for (const [name, table, days] of [
      ['retention', 'retention', 30],
      ['auditRetention', 'audit_terms', 400],
    ] as const) {
      expect(await terms(table)).toEqual({ '': days });
      await migrate({ ...options, [name]: { days: 90, ...tenants({ acme: 7, lab: 400 }) } });
      expect(await terms(table)).toEqual({ '': 90, acme: 7, lab: 400 });
      await migrate(options);
      expect(await terms(table)).toEqual({ '': 90, acme: 7, lab: 400 });
      await migrate({ ...options, [name]: tenants({ acme: 8 }) });
      expect(await terms(table)).toEqual({ '': 90, acme: 8 });
      await migrate({ ...options, [name]: { days, ...tenants({}) } });
      expect(await terms(table)).toEqual({ '': days });
    }
  });

  it('has no column of a task that is neither compared with its events nor known to stand beside them', async () => {
    const owner = await ownerClient(test.url);
    const { rows } = await owner.query<{ name: string }>(
      `select distinct column_name as name from information_schema.columns
       where table_schema = 'switchyard' and table_name in ('tasks', 'task_heads') order by 1`,
    );
    await owner.end();
    // By assertProjections, in the snapshot and beside it.
    const compared = new Set(SNAPSHOT_COLUMNS.match(/(?<=\b[th]\.)\w+/g))
      .add('end_state')
      .add('error_code')
      .add('wait_until');
    const beside = new Set<string>([...UNPROJECTED_COLUMNS.request, ...UNPROJECTED_COLUMNS.live]);
    expect(rows.map(({ name }) => name).filter((name) => !compared.has(name) && !beside.has(name))).toEqual([]);
  });

  it('undoes every migration', async () => {
    const source = await createOwnerDataSource(test.url).initialize();
    try {
      for (let left = MIGRATIONS.length; left > 0; left -= 1) await source.undoLastMigration();
      const rows = await source.query<{ count: number }[]>(
        `select count(*)::int as count from pg_tables where schemaname = 'switchyard' and tablename <> 'migrations'`,
      );
      expect(rows).toEqual([{ count: 0 }]);
    } finally {
      await source.destroy();
    }
  });
});
