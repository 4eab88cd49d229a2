import { DomainError } from '#lib/domain';
import pg from 'pg';
import { MIGRATIONS } from '../../../migrations/index.js';
import { APP_ROLE, SCHEMA, SEALER_ROLE } from './database.js';

/** Servers older than this lack what the schema needs. */
const MIN_SERVER_VERSION = 150_000;
const LOCK_KEY = 7_305_810_001;

export interface MigrateOptions {
  /** Connects as the owner of the schema. */
  readonly ownerUrl: string;
  /** How the processes connect; its user is given the application's role. */
  readonly databaseUrl: string;
  readonly retention?: RetentionTerms;
  readonly auditRetention?: RetentionTerms;
  /** Other tables to bring up to date under the same lock, such as the queue's; the role gets the use of a `schema` named. */
  readonly others?: readonly { readonly schema?: string; readonly migrate: (ownerUrl: string) => Promise<void> }[];
}

/** Days tasks are kept after their end, or audit records from their time on, 1 to 36,500; what is absent stays as it is. */
export interface RetentionTerms {
  /** For tenants without days of their own; at first 30, of audit records 400. */
  readonly days?: number;
  /** Tenants with days of their own, all of them. */
  readonly tenants?: ReadonlyMap<string, number>;
}

/**
 * Brings every schema up to date; safe to run from many processes at once and again and again.
 * @returns names of the migrations applied now.
 * @throws DomainError `unavailable` when the server is too old or its encoding is not UTF8.
 */
export async function migrate(options: MigrateOptions): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: options.ownerUrl, application_name: 'switchyard migrate' });
  await client.connect();
  try {
    await assertServer(client);
    await client.query('select pg_advisory_lock($1)', [LOCK_KEY]);
    await client.query(`create schema if not exists ${SCHEMA}`);
    const applied = await migrateOwn(options.ownerUrl);
    for (const other of options.others ?? []) {
      await other.migrate(options.ownerUrl);
      if (other.schema !== undefined) await grantOther(client, other.schema);
    }
    await client.query(`select ${SCHEMA}.ensure_partitions(1, 30)`);
    await setTerms(client, 'retention', options.retention ?? {});
    await setTerms(client, 'audit_terms', options.auditRetention ?? {});
    await grantRole(client, new URL(options.databaseUrl).username);
    return applied;
  } finally {
    await client.end();
  }
}

async function migrateOwn(ownerUrl: string): Promise<readonly string[]> {
  // Nobody else needs TypeORM, which takes a quarter of a second to load.
  const { createOwnerDataSource } = await import('./data-source.js');
  const source = await createOwnerDataSource(ownerUrl).initialize();
  try {
    const applied = await source.runMigrations();
    return applied.map((migration) => migration.name);
  } finally {
    await source.destroy();
  }
}

async function assertServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: number; encoding: string }>(
    `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`,
  );
  const [server] = rows;
  if (!server || server.version < MIN_SERVER_VERSION) {
    throw new DomainError('unavailable', 'DATABASE_URL: PostgreSQL 15 or newer is needed.');
  }
  if (server.encoding !== 'UTF8') {
    throw new DomainError('unavailable', `DATABASE_URL: the database must be encoded in UTF8, not ${server.encoding}.`);
  }
}

/** Written here and nowhere else: processes remove what is past these terms, and cannot change them. */
async function setTerms(
  client: pg.Client,
  table: 'retention' | 'audit_terms',
  { days, tenants }: RetentionTerms,
): Promise<void> {
  if (days !== undefined) await client.query(`update ${SCHEMA}.${table} set days = $1 where tenant = ''`, [days]);
  if (tenants === undefined) return;
  const given = [[...tenants.keys()], [...tenants.values()]];
  await client.query(
    `with given as (select * from unnest($1::text[], $2::int[]) as g(tenant, days)),
      others as (delete from ${SCHEMA}.${table} where tenant <> '' and tenant not in (select tenant from given))
    insert into ${SCHEMA}.${table} (tenant, days) select tenant, days from given
    on conflict (tenant) do update set days = excluded.days`,
    given,
  );
}

async function grantOther(client: pg.Client, schema: string): Promise<void> {
  const name = client.escapeIdentifier(schema);
  await client.query(`
    grant usage on schema ${name} to ${APP_ROLE};
    grant all on all tables in schema ${name} to ${APP_ROLE};
    grant all on all sequences in schema ${name} to ${APP_ROLE};
    grant execute on all functions in schema ${name} to ${APP_ROLE};`);
}

/** The user the processes connect with becomes a member of the roles they take; a superuser is one of every role. */
async function grantRole(client: pg.Client, user: string): Promise<void> {
  const name = user === '' ? 'current_user' : client.escapeIdentifier(decodeURIComponent(user));
  await client.query(`grant ${APP_ROLE}, ${SEALER_ROLE} to ${name}`);
  await client.query(`grant usage on schema ${SCHEMA} to ${APP_ROLE}, ${SEALER_ROLE}`);
}

/** The names of migrations the database lacks; empty when it is current. */
export async function pendingMigrations(databaseUrl: string): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'switchyard version check' });
  await client.connect();
  try {
    const { rows: found } = await client.query<{ known: boolean }>(
      `select to_regclass('${SCHEMA}.migrations') is not null as known`,
    );
    const names = MIGRATIONS.map((migration) => migration.name);
    if (!found[0]?.known) return names;
    const { rows } = await client.query<{ name: string }>(`select name from ${SCHEMA}.migrations`);
    const applied = new Set(rows.map((row) => row.name));
    return names.filter((name) => !applied.has(name));
  } finally {
    await client.end();
  }
}
