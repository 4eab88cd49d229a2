import {
  type NewThreadRun,
  type TaskId,
  type Thread,
  type ThreadName,
  type ThreadReservation,
  type ThreadRun,
  ThreadStore,
} from '#lib/domain';
import type { Database, Statement } from '../database.js';

/** The runs of conversations, in Postgres. */
export class PgThreadStore extends ThreadStore {
  constructor(private readonly database: Database) {
    super();
  }

  override async find({ tenant, threadId }: ThreadName, runId?: string): Promise<Thread | undefined> {
    const rows = await this.database.query<FoundRow>(FIND, [tenant, threadId, runId ?? null]);
    const [first] = rows;
    if (!first) return undefined;
    const newest = rows.find((row) => row.is_newest);
    const run = rows.find((row) => row.run_id === runId);
    return {
      principal: first.principal,
      ...(newest ? { newest: decodeRun(newest) } : {}),
      ...(run ? { run: decodeRun(run) } : {}),
    };
  }

  override async runs({ tenant, threadId }: ThreadName): Promise<readonly ThreadRun[]> {
    return (await this.database.query<RunRow>(RUNS, [tenant, threadId])).map(decodeRun);
  }

  override async answered({ tenant, threadId }: ThreadName, answersHash: Uint8Array): Promise<ThreadRun | undefined> {
    const [row] = await this.database.query<RunRow>(ANSWERED, [tenant, threadId, Buffer.from(answersHash)]);
    return row && decodeRun(row);
  }

  override async heard(
    { tenant, threadId }: ThreadName,
    runId: string,
    messageIds: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<{ id: string }>(HEARD, [tenant, threadId, runId, messageIds]);
    return new Set(rows.map(({ id }) => id));
  }

  override reserve(run: NewThreadRun): Promise<ThreadReservation> {
    const { tenant, threadId, runId, principal } = run;
    return this.database.transaction(async (client) => {
      // The next statement sees what whoever held the thread before has done: its snapshot is younger than the lock.
      const { rowCount } = await client.query({ ...LOCK, values: [tenant, threadId, principal] });
      if (rowCount === 0) return { kind: 'foreign' };
      const values = [
        ...[tenant, threadId, runId, run.taskId, run.firstSeq, run.waitId ?? null],
        Buffer.from(run.requestHash),
        run.answersHash ? Buffer.from(run.answersHash) : null,
        run.wireVersion ?? null,
        run.messageIds,
      ];
      const { rows } = await client.query<RunRow & { is_new: boolean }>({ ...RESERVE, values });
      const [row] = rows;
      if (!row) return { kind: 'busy' };
      return row.is_new ? { kind: 'made' } : { kind: 'known', run: decodeRun(row) };
    });
  }

  override async release({ tenant, threadId }: ThreadName, runId: string): Promise<void> {
    await this.database.query(RELEASE, [tenant, threadId, runId]);
  }
}

interface RunRow {
  readonly run_id: string;
  readonly task_id: TaskId;
  readonly first_seq: number;
  readonly wait_id: string | null;
  readonly request_hash: Buffer;
  readonly answers_hash: Buffer | null;
  readonly wire_version: string | null;
}

/** A thread whose runs are gone has one row without a run. */
interface FoundRow extends RunRow {
  readonly principal: string;
  readonly is_newest: boolean | null;
}

function decodeRun(row: RunRow): ThreadRun {
  return {
    runId: row.run_id,
    taskId: row.task_id,
    firstSeq: row.first_seq,
    ...(row.wait_id === null ? {} : { waitId: row.wait_id }),
    requestHash: row.request_hash,
    ...(row.answers_hash === null ? {} : { answersHash: row.answers_hash }),
    ...(row.wire_version === null ? {} : { wireVersion: row.wire_version }),
  };
}

const COLUMNS = 'run_id, task_id, first_seq, wait_id, request_hash, answers_hash, wire_version';

const FIND: Statement = {
  name: 'thread-store.find',
  text: `
select t.principal, r.* from threads t left join lateral (
  (select ${COLUMNS}, true as is_newest from thread_runs
    where tenant = t.tenant and thread_id = t.thread_id order by ordinal desc limit 1)
  union all
  (select ${COLUMNS}, false from thread_runs where tenant = t.tenant and thread_id = t.thread_id and run_id = $3)
) r on true
where t.tenant = $1 and t.thread_id = $2`,
};

const RUNS: Statement = {
  name: 'thread-store.runs',
  text: `
select * from (
  select ordinal, ${COLUMNS} from thread_runs where tenant = $1 and thread_id = $2 order by ordinal desc limit 1000
) r order by ordinal`,
};

const ANSWERED: Statement = {
  name: 'thread-store.answered',
  text: `
select ${COLUMNS} from thread_runs where tenant = $1 and thread_id = $2 and answers_hash = $3
order by ordinal limit 1`,
};

const HEARD: Statement = {
  name: 'thread-store.heard',
  text: `
select distinct m.id from thread_runs r cross join unnest(r.message_ids) m(id)
where r.tenant = $1 and r.thread_id = $2 and r.run_id <> $3 and m.id = any ($4::text[])`,
};

/** A task is a thread by its id: nobody else begins one of that name, or its owner would be kept out. */
const LOCK: Statement = {
  name: 'thread-store.lock',
  text: `
insert into threads as t (tenant, thread_id, principal, updated_at)
select $1, $2, $3, clock_timestamp() where not exists (
  select from submit_keys where tenant = $1 and kind = 'task_id' and owner = '' and key = $2 and principal <> $3
)
on conflict (tenant, thread_id) do update set updated_at = excluded.updated_at
where t.principal = excluded.principal`,
};

/**
 * What keeps another run out: a task that has not ended, or a reservation that is young enough to become one. Only the newest
 * run can be either.
 */
const RESERVE: Statement = {
  name: 'thread-store.reserve',
  text: `
with newest as (
  select r.task_id, r.ordinal, r.created_at from thread_runs r
  where r.tenant = $1 and r.thread_id = $2 order by r.ordinal desc limit 1
),
busy as (
  select from newest n
  left join submit_keys k on k.tenant = $1 and k.kind = 'task_id' and k.owner = '' and k.key = n.task_id
  left join tasks t on t.task_key = k.task_key
  where n.task_id <> $4 and case when k.task_key is null then n.created_at > clock_timestamp() - interval '30 s'
    else t.task_key is not null and t.finished_at is null end
),
known as (select ${COLUMNS} from thread_runs where tenant = $1 and thread_id = $2 and run_id = $3),
made as (
  insert into thread_runs (tenant, thread_id, ${COLUMNS}, message_ids, ordinal, created_at)
  select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text[], coalesce((select ordinal from newest), 0) + 1, clock_timestamp()
  where not exists (select from busy) and not exists (select from known)
  returning ${COLUMNS}
)
select *, true as is_new from made union all select *, false from known`,
};

const RELEASE: Statement = {
  name: 'thread-store.release',
  text: 'delete from thread_runs where tenant = $1 and thread_id = $2 and run_id = $3',
};
