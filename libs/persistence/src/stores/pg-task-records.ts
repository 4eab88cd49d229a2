import {
  type ArtifactRecord,
  type TaskRecord,
  type NumberedPage,
  type PageWindow,
  type RecordLimits,
  type TaskId,
  type TaskKey,
  TaskRecords,
  type TaskScope,
} from '#lib/domain';
import type { Database, Statement } from '../database.js';
import { ARTIFACT_COLUMNS, type ArtifactRow, decodeArtifact } from './task.rows.js';

/** Tasks that are counted for one answer. */
const MOST = 10_000;

/** Tasks for wires that number their pages, in Postgres. */
export class PgTaskRecords extends TaskRecords {
  constructor(private readonly database: Database) {
    super();
  }

  override async asked(taskKeys: readonly TaskKey[], limits: RecordLimits): Promise<readonly TaskRecord[]> {
    if (taskKeys.length === 0) return [];
    const [tasks, artifacts] = await Promise.all([
      this.database.query<AskedRow>(ASKED, [taskKeys, limits.maxRequestBytes]),
      this.database.query<ArtifactRow>(FIRST_ARTIFACTS, [taskKeys, limits.maxArtifacts]),
    ]);
    return tasks.map(({ task_key, task_id, input, context }) => ({
      taskKey: task_key,
      taskId: task_id,
      input,
      context,
      artifacts: artifacts.filter((row) => row.task_key === task_key).map(decodeArtifact),
    }));
  }

  override async list(scope: TaskScope, { offset, limit }: PageWindow): Promise<NumberedPage<TaskKey>> {
    const values = [scope.tenant, scope.principal ?? null, Math.min(offset, MOST), limit, MOST];
    const rows = await this.database.query<{ task_key: TaskKey | null; total: number }>(LIST, values);
    return numbered(rows, ({ task_key }) => (task_key === null ? [] : [task_key]));
  }

  override async artifacts(taskKey: TaskKey, { offset, limit }: PageWindow): Promise<NumberedPage<ArtifactRecord>> {
    const rows = await this.database.query<ArtifactRow & { total: number }>(ARTIFACTS, [taskKey, offset, limit]);
    return numbered(rows, (row) => ((row.artifact_id as string | null) === null ? [] : [decodeArtifact(row)]));
  }

  override async stepCursor(taskKey: TaskKey): Promise<number> {
    const [row] = await this.database.query<{ step_cursor: number }>(CURSOR, [taskKey]);
    return row?.step_cursor ?? 0;
  }

  override async moveStepCursor(taskKey: TaskKey, from: number, to: number): Promise<boolean> {
    return (await this.database.query(MOVE_CURSOR, [taskKey, from, to])).length > 0;
  }
}

/** Every row carries the number of all; a page past the end is one row with nothing else. */
function numbered<Row extends { readonly total: number }, T>(
  rows: readonly Row[],
  read: (row: Row) => readonly T[],
): NumberedPage<T> {
  return { items: rows.flatMap(read), total: rows[0]?.total ?? 0 };
}

interface AskedRow {
  readonly task_key: TaskKey;
  readonly task_id: TaskId;
  readonly input: string | null;
  readonly context: string | null;
}

const ASKED: Statement = {
  name: 'task-records.asked',
  text: `
select t.task_key, t.task_id, case when octet_length(t.input) <= $2 then t.input end as input,
  case when octet_length(t.context) <= $2 then t.context end as context
from unnest($1::uuid[]) with ordinality as k(task_key, place) join tasks t using (task_key) order by k.place`,
};

const FIRST_ARTIFACTS: Statement = {
  name: 'task-records.first-artifacts',
  text: `
select f.* from unnest($1::uuid[]) as k(task_key) cross join lateral (
  select ${ARTIFACT_COLUMNS} from artifacts a where a.task_key = k.task_key order by a.artifact_id limit $2) f`,
};

/** Counted along the index of lists, as far as is shown. */
const LIST: Statement = {
  name: 'task-records.list',
  text: `
with newest as materialized (
  select t.task_key from tasks t where t.tenant = $1 and ($2::text is null or t.created_by = $2)
  order by t.task_key desc limit $5
),
page as (select task_key from newest order by task_key desc offset $3 limit $4)
select p.task_key, c.total from (select count(*)::int as total from newest) c left join page p on true
order by p.task_key desc`,
};

const ARTIFACTS: Statement = {
  name: 'task-records.artifacts',
  text: `
with page as (
  select ${ARTIFACT_COLUMNS} from artifacts a where a.task_key = $1 order by a.artifact_id offset $2 limit $3
)
select p.*, c.total from (select count(*)::int as total from artifacts where task_key = $1) c left join page p on true
order by p.artifact_id`,
};

const CURSOR: Statement = {
  name: 'task-records.cursor',
  text: 'select step_cursor from tasks where task_key = $1',
};

const MOVE_CURSOR: Statement = {
  name: 'task-records.move-cursor',
  text: 'update tasks set step_cursor = $3 where task_key = $1 and step_cursor = $2 returning task_key',
};
