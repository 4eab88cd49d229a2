import {
  type ArtifactId,
  type ArtifactRecord,
  type AskedTask,
  type CountedPage,
  DomainError,
  type Metrics,
  NO_METRICS,
  type Page,
  type PageRequest,
  type RecordedDecision,
  type SeenState,
  type StateListFilter,
  type StepProjection,
  type Submission,
  type SubmissionKeys,
  type SubmitOutcome,
  type TaskFilter,
  type TaskId,
  type TaskKey,
  type TaskRequest,
  type TaskScope,
  type TaskSnapshot,
  type TaskState,
  TaskStore,
} from '#lib/domain';
import type { Database, Statement } from '../database.js';
import { cut, decodeCursor } from './page.js';
import { PgSubmissions } from './pg-submissions.js';
import { cursorOf, stateCondition, stateListQuery, type StateListRow } from './state-list.query.js';
import {
  ARTIFACT_COLUMNS,
  ARTIFACT_ID,
  type ArtifactRow,
  decodeArtifact,
  decodeSnapshot,
  decodeStep,
  SNAPSHOT_COLUMNS,
  type SnapshotRow,
  STEP_COLUMNS,
  type StepRow,
} from './task.rows.js';

/** Tasks for callers, in Postgres. */
export class PgTaskStore extends TaskStore {
  private readonly submissions: PgSubmissions;

  constructor(
    private readonly database: Database,
    private readonly metrics: Metrics = NO_METRICS,
  ) {
    super();
    this.submissions = new PgSubmissions(database);
  }

  override async submit(submission: Submission): Promise<SubmitOutcome> {
    const outcome = await this.submissions.submit(submission);
    if (outcome.kind === 'created') this.metrics.count('switchyard_tasks_submitted_total', {});
    return outcome;
  }

  override find(keys: SubmissionKeys): Promise<SubmitOutcome | undefined> {
    return this.submissions.find(keys);
  }

  override async newestKey(
    { tenant, principal }: Required<TaskScope>,
    prefix: string,
    since: string,
  ): Promise<string | undefined> {
    const range = [prefix + since, `${prefix}g`, prefix];
    const [row] = await this.database.query<{ key: string }>(NEWEST_KEY, [tenant, principal, ...range]);
    return row?.key;
  }

  override async idOf(taskKey: TaskKey): Promise<TaskId | undefined> {
    const [row] = await this.database.query<{ task_id: TaskId }>(TASK_ID, [taskKey]);
    return row?.task_id;
  }

  override async watch(taskKey: TaskKey, watcher: string): Promise<void> {
    await this.database.query(WATCH, [taskKey, watcher, NOBODY]);
  }

  override async giveUp(taskKey: TaskKey, watcher: string | undefined): Promise<boolean> {
    const rows = await this.database.query(GIVE_UP, [taskKey, watcher ?? null, NOBODY]);
    return rows.length > 0;
  }

  override async snapshot(scope: TaskScope, taskId: TaskId): Promise<TaskSnapshot | undefined> {
    const [row] = await this.database.query<SnapshotRow>(SNAPSHOT, [scope.tenant, taskId, scope.principal ?? null]);
    if (row) return decodeSnapshot(row);
    await this.assertNotGone(scope, taskId);
    return undefined;
  }

  override async seen(asked: readonly AskedTask[]): Promise<readonly (SeenState | undefined)[]> {
    const rows = await this.database.query<SeenRow>(SEEN, [
      asked.map(({ scope }) => scope.tenant),
      asked.map(({ taskId }) => taskId),
      asked.map(({ scope }) => scope.principal ?? null),
    ]);
    const found = new Map(rows.map((row) => [row.place, row]));
    return asked.map(({ taskId }, index) => {
      const row = found.get(index + 1);
      return row && { taskKey: row.task_key, taskId, state: row.state, lastSeq: row.last_seq };
    });
  }

  override async list(scope: TaskScope, filter: TaskFilter, page: PageRequest): Promise<Page<TaskSnapshot>> {
    const { text, values } = listQuery(scope, filter, page);
    const rows = await this.database.query<SnapshotRow>({ name: '', text }, values);
    return cut(rows.map(decodeSnapshot), page, (task) => task.taskKey);
  }

  override async listByState(
    scope: TaskScope,
    filter: StateListFilter,
    page: PageRequest,
  ): Promise<CountedPage<TaskSnapshot>> {
    const { text, values } = stateListQuery(scope, filter, page);
    const rows = await this.database.query<StateListRow>({ name: '', text }, values);
    const found = rows.filter(({ task_key }) => task_key !== null);
    const { items, nextCursor } = cut(found, page, cursorOf);
    return { items: items.map(decodeSnapshot), nextCursor, total: rows[0]?.total ?? 0 };
  }

  override async request(taskKey: TaskKey): Promise<TaskRequest | undefined> {
    const [row] = await this.database.query<TaskRequest>(REQUEST, [taskKey]);
    return row;
  }

  override async lastDecision(taskKey: TaskKey): Promise<RecordedDecision | undefined> {
    const [row] = await this.database.query<DecisionRow>(LAST_DECISION, [taskKey]);
    return (
      row && {
        waitId: row.wait_id,
        decidedBy: row.decided_by,
        decidedAtMs: row.decided_at_ms,
        decisions: row.decisions.map((text) => JSON.parse(text) as Readonly<Record<string, unknown>>),
      }
    );
  }

  override async steps(taskKey: TaskKey, page: PageRequest): Promise<Page<StepProjection>> {
    const after = decodeCursor(page, /^\d{1,9} [^\0]*$/)?.split(/ (.*)/s, 2) ?? ['0', ''];
    const rows = await this.database.query<StepRow>(STEPS, [taskKey, after[0], after[1], page.limit + 1]);
    const { items, nextCursor } = cut(rows, page, (row) => `${row.first_seq} ${row.step_id}`);
    return { items: items.map(decodeStep), nextCursor };
  }

  override async artifacts(taskKey: TaskKey, page: PageRequest): Promise<Page<ArtifactRecord>> {
    const after = decodeCursor(page, ARTIFACT_ID) ?? '';
    const rows = await this.database.query<ArtifactRow>(ARTIFACTS, [taskKey, after, page.limit + 1]);
    return cut(rows.map(decodeArtifact), page, (artifact) => artifact.artifact_id);
  }

  override async artifact(scope: TaskScope, artifactId: ArtifactId): Promise<ArtifactRecord | undefined> {
    const [row] = await this.database.query<ArtifactRow>(ARTIFACT, [scope.tenant, artifactId, scope.principal ?? null]);
    return row && decodeArtifact(row);
  }

  override async linkedArtifact(artifactId: ArtifactId): Promise<ArtifactRecord | undefined> {
    const [row] = await this.database.query<ArtifactRow>(LINKED_ARTIFACT, [artifactId]);
    return row && decodeArtifact(row);
  }

  /** Only the key is left of a task that was removed, and only for some time. */
  private async assertNotGone(scope: TaskScope, taskId: TaskId): Promise<void> {
    const rows = await this.database.query(GONE, [scope.tenant, taskId, scope.principal ?? null]);
    if (rows.length > 0) throw new DomainError('gone', 'The task was removed: the time it is kept for is over.');
  }
}

/** Collations order hexadecimal digits alike, but some pass over spaces: so the beginning is looked at itself. */
const NEWEST_KEY: Statement = {
  name: 'task-store.newest-key',
  text: `
select key from submit_keys
where tenant = $1 and kind = 'idempotency' and owner = $2 and key > $3 and key < $4 and starts_with(key, $5)
order by key desc limit 1`,
};

const TASK_ID: Statement = { name: 'task-store.id', text: 'select task_id from tasks where task_key = $1' };

/** Stands for who waits for a task that was given up. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

const WATCH: Statement = {
  name: 'task-store.watch',
  text: 'update tasks set watcher = $2 where task_key = $1 and watcher is distinct from $3',
};

const GIVE_UP: Statement = {
  name: 'task-store.give-up',
  text: 'update tasks set watcher = $3 where task_key = $1 and watcher is not distinct from $2::uuid returning task_key',
};

const GONE: Statement = {
  name: 'task-store.gone',
  text: `
select from submit_keys
where tenant = $1 and kind = 'task_id' and owner = '' and key = $2 and ($3::text is null or principal = $3)
  and gone_until is not null`,
};

const SNAPSHOT: Statement = {
  name: 'task-store.snapshot',
  text: `
select ${SNAPSHOT_COLUMNS}
from submit_keys k join tasks t using (task_key) join task_heads h using (task_key)
where k.tenant = $1 and k.kind = 'task_id' and k.owner = '' and k.key = $2 and ($3::text is null or t.created_by = $3)`,
};

const SEEN: Statement = {
  name: 'task-store.seen',
  text: `
select a.place::int, h.task_key, h.state, h.last_seq
from unnest($1::text[], $2::text[], $3::text[]) with ordinality as a(tenant, task_id, principal, place)
join submit_keys k on k.tenant = a.tenant and k.kind = 'task_id' and k.owner = '' and k.key = a.task_id
join tasks t using (task_key) join task_heads h using (task_key)
where a.principal is null or t.created_by = a.principal`,
};

interface SeenRow {
  readonly place: number;
  readonly task_key: TaskKey;
  readonly state: TaskState;
  readonly last_seq: number;
}

const REQUEST: Statement = {
  name: 'task-store.request',
  text: 'select input, context from tasks where task_key = $1',
};

/** Ids of waits are in the order of time. */
const LAST_DECISION: Statement = {
  name: 'task-store.last-decision',
  text: `
select wait_id, min(decided_by) as decided_by, (extract(epoch from max(decided_at)) * 1000)::float8 as decided_at_ms,
  array_remove(array_agg(decision order by position), null) as decisions
from confirmations where task_key = $1 and state = 'decided'
group by wait_id order by max(decided_at) desc, wait_id desc limit 1`,
};

interface DecisionRow {
  readonly wait_id: string;
  readonly decided_by: string;
  readonly decided_at_ms: number;
  readonly decisions: readonly string[];
}

const STEPS: Statement = {
  name: 'task-store.steps',
  text: `select ${STEP_COLUMNS} from steps where task_key = $1 and (first_seq, step_id) > ($2::int, $3::text)
order by first_seq, step_id limit $4`,
};

const ARTIFACTS: Statement = {
  name: 'task-store.artifacts',
  text: `select ${ARTIFACT_COLUMNS} from artifacts a where a.task_key = $1 and a.artifact_id > $2
order by a.artifact_id limit $3`,
};

const ARTIFACT: Statement = {
  name: 'task-store.artifact',
  text: `select ${ARTIFACT_COLUMNS} from artifacts a left join tasks t using (task_key)
where a.tenant = $1 and a.artifact_id = $2 and ($3::text is null or coalesce(t.created_by, a.created_by) = $3)`,
};

const LINKED_ARTIFACT: Statement = {
  name: 'task-store.linked-artifact',
  text: `select ${ARTIFACT_COLUMNS} from artifacts a where a.artifact_id = $1`,
};

/** The condition of each filter, on the index that serves it; filters compose, so the statement is built per request. */
function listQuery(scope: TaskScope, filter: TaskFilter, page: PageRequest): { text: string; values: unknown[] } {
  const values: unknown[] = [];
  const conditions: string[] = [];
  const where = (condition: (parameter: string) => string, value: unknown): void => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  where((p) => `t.tenant = ${p}`, scope.tenant);
  where((p) => `t.created_by = ${p}`, scope.principal);
  where((p) => `t.agent_id = ${p}`, filter.agentId);
  where((p) => `t.type = ${p}`, filter.type);
  where((p) => `t.session_id = ${p}`, filter.sessionId);
  where((p) => `t.error_code = ${p}`, filter.errorCode);
  where((p) => `t.created_at > ${p}`, isoOf(filter.createdAfterMs));
  where((p) => `t.created_at < ${p}`, isoOf(filter.createdBeforeMs));
  where((p) => `t.task_key < ${p}::uuid`, decodeCursor(page, UUID));
  if (filter.states?.length) conditions.push(stateCondition(filter.states, values));
  values.push(page.limit + 1);
  const text = `select ${SNAPSHOT_COLUMNS} from tasks t join task_heads h using (task_key)
where ${conditions.join(' and ')} order by t.task_key desc limit $${values.length}`;
  return { text, values };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function isoOf(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString();
}
