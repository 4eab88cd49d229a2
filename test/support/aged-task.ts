import pg from 'pg';

const DAY_MS = 86_400_000;

interface TableRow {
  readonly name: string;
  /** Its columns that hold a time. */
  readonly times: readonly string[];
}

/** Every table with a task key, with the times that are not part of what events say. */
const TABLES = `
select c.oid::regclass::text as name,
  array(select t.attname::text from pg_attribute t where t.attrelid = c.oid and t.atttypid = 'timestamptz'::regtype
    and t.attname not in ('deadline_at', 'expires_at', 'wait_until')) as times
from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = 'switchyard'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  and a.attname = 'task_key' and not a.attisdropped`;

/** A client of the database's owner, which triggers do not hold up. */
export async function ownerClient(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('set search_path to switchyard');
  return client;
}

/** Makes a task as if all of it had happened so many days ago: its key, which is a time too, and every time of its rows. Answers the key it has then. */
export async function ageTask(owner: pg.Client, taskKey: string, days: number): Promise<string> {
  const timePart = BigInt(`0x${taskKey.replaceAll('-', '').slice(0, 12)}`) - BigInt(days * DAY_MS);
  const hex = timePart.toString(16).padStart(12, '0');
  const aged = `${hex.slice(0, 8)}-${hex.slice(8)}${taskKey.slice(13)}`;
  await owner.query('select ensure_partitions($1, $2)', [days + 1, 1 - days]);
  await owner.query('set session_replication_role to replica');
  try {
    const { rows } = await owner.query<TableRow>(TABLES);
    for (const { name, times } of rows) {
      const changes = ['task_key = $2', ...times.map((column) => `${column} = ${column} - make_interval(days => $3)`)];
      // Parameters without a use have no type.
      await owner.query(`update ${name} set ${changes.join(', ')} where task_key = $1 and $3::int is not null`, [
        taskKey,
        aged,
        days,
      ]);
    }
    for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes']) {
      await owner.query(`update langgraph.${table} set thread_id = $2 where thread_id = $1`, [taskKey, aged]);
    }
  } finally {
    await owner.query('set session_replication_role to origin');
  }
  return aged;
}
