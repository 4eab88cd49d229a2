import {
  type ArtifactBody,
  type Claim,
  type ClaimRequest,
  type Detail,
  type DispatchReason,
  type DueJob,
  type DueTask,
  type ExpiredHold,
  type ExpiredWait,
  type LostRun,
  type RunPolicy,
  RunStore,
  type TaskId,
  type TaskKey,
} from '#lib/domain';
import type { Database, Statement } from '../database.js';
import { type AskedRow, CLAIM, CLAIM_FIRST, decodeAllowed, decodeAsked } from './claim.statement.js';
import { eventIdOf, uuidOf } from './event-id.js';
import { type ArtifactRow, decodeArtifactBody, decodeStep, type StepRow } from './task.rows.js';

const LOST_STEP = JSON.stringify({ code: 'lost', message: 'The run that worked on this step was lost.' });

/** Runs, leases and the outbox in Postgres. */
export class PgRunStore extends RunStore {
  constructor(private readonly database: Database) {
    super();
  }

  override async claim(
    requests: readonly ClaimRequest[],
    runtime: { readonly id: string; readonly leaseMs: number },
  ): Promise<readonly Claim[]> {
    const statement = requests.every(({ job }) => job.runNo === 1) ? CLAIM_FIRST : CLAIM;
    const rows = await this.database.query<ClaimRow>(statement, [
      requests.map(({ job }) => job.taskKey),
      requests.map(({ job }) => job.runNo),
      requests.map(({ eventId }) => uuidOf(eventId)),
      runtime.id,
      runtime.leaseMs,
      ...(statement === CLAIM ? [LOST_STEP] : []),
    ]);
    return rows.map(decodeClaim);
  }

  override async dueJobs(limit: number): Promise<readonly DueJob[]> {
    const rows = await this.database.query<DueJobRow>(DUE_JOBS, [limit]);
    return rows.map((row) => ({
      taskKey: row.task_key,
      runNo: row.run_no,
      tenant: row.tenant,
      pool: row.pool,
      priority: row.priority,
      delayMs: 0,
      taskId: row.task_id,
      stalled: row.stalled,
      isOverlong: row.is_overlong,
    }));
  }

  override async countDue(limit: number): Promise<number> {
    const [row] = await this.database.query<{ due: number }>(COUNT_DUE, [limit]);
    return row?.due ?? 0;
  }

  override async lostRuns(limit: number): Promise<readonly LostRun[]> {
    const rows = await this.database.query<LostRow>(LOST_RUNS, [limit]);
    return rows.map((row) => ({
      taskKey: row.task_key,
      taskId: row.task_id,
      runNo: row.run_no,
      tenant: row.tenant,
      pool: row.pool,
      priority: row.priority,
      policy: JSON.parse(row.policy) as RunPolicy,
      runner: row.runner,
      hasCheckpoint: row.has_checkpoint,
      cancelRequested: row.cancel_requested,
      consecutiveLost: row.lost_runs,
      attempt: row.attempt,
    }));
  }

  override async overdueTasks(limit: number): Promise<readonly DueTask[]> {
    const rows = await this.database.query<DueRow>(OVERDUE, [limit]);
    return rows.map((row) => ({
      taskKey: row.task_key,
      taskId: row.task_id,
      state: row.state,
      runNo: row.run_no,
      runOpen: row.run_open,
      runtimeId: row.runtime_id,
      stalled: row.stalled,
    }));
  }

  override async expiredWaits(limit: number): Promise<readonly ExpiredWait[]> {
    const rows = await this.database.query<WaitRow>(EXPIRED_WAITS, [limit]);
    return rows.map((row) => ({ taskKey: row.task_key, taskId: row.task_id, runNo: row.run_no }));
  }

  override async expiredHolds(limit: number): Promise<readonly ExpiredHold[]> {
    const rows = await this.database.query<HoldRow>(EXPIRED_HOLDS, [limit]);
    return rows.map((row) => ({ taskKey: row.task_key, taskId: row.task_id }));
  }
}

/** The time of a wait is up with the first of its items. */
const EXPIRED_WAITS: Statement = {
  name: 'run-store.expired-waits',
  text: `
select distinct h.task_key, t.task_id, h.run_no
from (select task_key, wait_id from confirmations where state = 'pending' and expires_at <= clock_timestamp()
  order by expires_at limit $1) c
join task_heads h on h.task_key = c.task_key and h.wait_id = c.wait_id and h.state = 'waiting_for_input'
join tasks t on t.task_key = h.task_key`,
};

const EXPIRED_HOLDS: Statement = {
  name: 'run-store.expired-holds',
  text: `
select h.task_key, t.task_id from task_heads h join tasks t using (task_key)
where h.held_until <= clock_timestamp() order by h.held_until limit $1`,
};

/**
 * A row that was re-added is looked at again after 2, 10, then 30 s, or when its task has been without progress for as
 * long as its agent bears. Heads are read, not locked: whoever writes on the strength of this says so in its guard.
 * A row whose run was claimed or whose task has ended is of no use any more and goes: it was written while the statement
 * that took or ended the task could not see it. A task that stood in line may have got its turn a moment ago: it is not
 * overlong before its row was looked at twice.
 */
const DUE_JOBS: Statement = {
  name: 'run-store.due-jobs',
  text: `
with due as (
  select task_key, run_no, tries from outbox where next_check_at <= clock_timestamp()
  order by next_check_at limit $1 for update skip locked
),
judged as materialized (
  select q.task_key, q.run_no, t.task_id, t.tenant, h.stalled, s.shown,
    s.overlong_at <= clock_timestamp() and (t.ordinal is null or q.run_no > 1 or q.tries > 1) as overlong,
    case when not s.shown and s.overlong_at > clock_timestamp() then s.overlong_at - clock_timestamp() end as overlong_in,
    h.run_no >= q.run_no or t.finished_at is not null as is_over
  from due q
  join task_heads h using (task_key) join tasks t using (task_key) join backend_versions b on b.id = t.backend_version_id
  cross join lateral (select h.stalled and t.waiting_on is not distinct from 'worker' as shown,
    h.progress_at + (b.policy::json->>'stallSeconds')::float8 * interval '1 s' as overlong_at) s
),
swept as (
  delete from outbox o using judged d where d.is_over and o.task_key = d.task_key and o.run_no = d.run_no
)
update outbox o set tries = o.tries + 1,
  next_check_at = clock_timestamp() + least(d.overlong_in,
    case o.tries when 0 then 2 when 1 then 10 else 30 end * interval '1 s')
from judged d
where not d.is_over and o.task_key = d.task_key and o.run_no = d.run_no
returning o.task_key, o.run_no, d.tenant, o.pool, o.priority, d.task_id, d.stalled, d.overlong and not d.shown as is_overlong`,
};

const COUNT_DUE: Statement = {
  name: 'run-store.count-due',
  text: `
select count(*)::int as due from (select from outbox where next_check_at <= clock_timestamp() limit $1) d`,
};

const LOST_RUNS: Statement = {
  name: 'run-store.lost-runs',
  text: `
select h.task_key, t.task_id, h.run_no, t.tenant, t.pool, t.priority, b.policy, t.runner, h.lost_runs, h.attempt,
  exists (select from checkpoints c where c.task_key = h.task_key and c.data is not null) as has_checkpoint,
  h.cancel_at is not null as cancel_requested
from task_heads h join tasks t using (task_key) join backend_versions b on b.id = t.backend_version_id
where h.run_open and h.lease_until < clock_timestamp() limit $1`,
};

const OVERDUE: Statement = {
  name: 'run-store.overdue',
  text: `
select h.task_key, t.task_id, h.state, h.run_no, h.run_open, h.runtime_id, h.stalled
from tasks t join task_heads h using (task_key)
where t.finished_at is null and t.deadline_at <= clock_timestamp() order by t.deadline_at limit $1`,
};

interface JobRow {
  readonly task_key: TaskKey;
  readonly run_no: number;
  readonly tenant: string;
  readonly pool: string;
  readonly priority: number;
}

interface DueJobRow extends JobRow {
  readonly task_id: TaskId;
  readonly stalled: boolean;
  readonly is_overlong: boolean;
}

interface LostRow extends JobRow {
  readonly task_id: TaskId;
  readonly policy: string;
  readonly runner: string;
  readonly has_checkpoint: boolean;
  readonly cancel_requested: boolean;
  readonly lost_runs: number;
  readonly attempt: number;
}

interface DueRow {
  readonly task_key: TaskKey;
  readonly task_id: TaskId;
  readonly state: DueTask['state'];
  readonly run_no: number;
  readonly run_open: boolean;
  readonly runtime_id: string | null;
  readonly stalled: boolean;
}

interface WaitRow {
  readonly task_key: TaskKey;
  readonly task_id: TaskId;
  readonly run_no: number;
}

interface HoldRow {
  readonly task_key: TaskKey;
  readonly task_id: TaskId;
}

interface ClaimRow {
  readonly task_key: TaskKey;
  readonly run_no: number;
  readonly seq: number;
  readonly at_ms: number;
  readonly reason: DispatchReason;
  readonly attempt: number;
  readonly cancel_at_ms: number | null;
  readonly stalled: boolean;
  readonly event_type: 'task.started' | 'task.retrying';
  readonly event_id: string;
  readonly payload: string;
  readonly task_id: TaskId;
  readonly tenant: string;
  readonly agent_id: string;
  readonly type: string | null;
  readonly session_id: string | null;
  readonly user_id: string | null;
  readonly created_by: string;
  readonly runner: string;
  readonly backend_version_id: string;
  readonly detail: Detail;
  readonly deadline_at_ms: number;
  readonly input: string;
  readonly context: string;
  readonly client_tools: string | null;
  readonly allowed_tools: string | null;
  readonly input_artifacts: string | null;
  readonly options: string;
  readonly policy: string;
  readonly checkpoint: string | null;
  readonly answer: string | null;
  readonly conversation: string | null;
  readonly asked: readonly AskedRow[] | null;
  readonly steps: readonly StepRow[] | null;
  readonly artifacts: readonly ArtifactRow[] | null;
  readonly workspace_sha256: string | null;
  readonly workspace_size: number | null;
}

function decodeClaim(row: ClaimRow): Claim {
  const lost = row.event_type === 'task.retrying';
  const policy = JSON.parse(row.policy) as RunPolicy;
  return {
    taskKey: row.task_key,
    taskId: row.task_id,
    runNo: row.run_no,
    tenant: row.tenant,
    agentId: row.agent_id,
    type: row.type,
    sessionId: row.session_id,
    userId: row.user_id,
    createdBy: row.created_by,
    runner: row.runner,
    backendVersion: row.backend_version_id,
    options: JSON.parse(row.options) as Claim['options'],
    policy,
    detail: row.detail,
    deadlineAtMs: row.deadline_at_ms,
    input: row.input,
    context: row.context,
    clientTools: row.client_tools,
    allowedTools: decodeAllowed(row.allowed_tools, policy),
    inputArtifacts: row.input_artifacts === null ? [] : (JSON.parse(row.input_artifacts) as readonly ArtifactBody[]),
    checkpoint: row.checkpoint,
    answer: row.answer,
    conversation: row.conversation,
    asked: decodeAsked(row.asked),
    // The statement reads the rows as they were before it closed those of a lost run.
    steps: (row.steps ?? [])
      .map(decodeStep)
      .map((step) => (lost && step.state === 'running' ? { ...step, state: 'failed' as const } : step)),
    artifacts: (row.artifacts ?? []).map(decodeArtifactBody),
    workspace: row.workspace_sha256 === null ? null : { sha256: row.workspace_sha256, size: row.workspace_size ?? 0 },
    reason: row.reason,
    attempt: row.attempt,
    stalled: row.stalled,
    event: {
      type: row.event_type,
      eventId: eventIdOf(row.event_id),
      seq: row.seq,
      atMs: row.at_ms,
      payload: row.payload,
    },
    ...(row.cancel_at_ms === null ? {} : { cancelAtMs: row.cancel_at_ms }),
  };
}
