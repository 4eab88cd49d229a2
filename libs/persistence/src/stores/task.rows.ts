import type {
  ArtifactBody,
  ArtifactRecord,
  ConfirmationProjection,
  Detail,
  StepProjection,
  StepState,
  TaskId,
  TaskKey,
  TaskSnapshot,
  TaskState,
} from '#lib/domain';

/** Milliseconds since the epoch of a timestamp column. */
const ms = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`;

/** While a task waits for its turn: the last one before it in its session that has not ended. */
const BLOCKED_BY = `case when t.ordinal is not null and h.state = 'queued' then (
  select f.task_id from tasks f
  where f.tenant = t.tenant and f.agent_id = t.agent_id and coalesce(f.user_id, f.created_by) = coalesce(t.user_id, t.created_by)
    and f.session_id = t.session_id and f.ordinal is not null and f.finished_at is null and f.ordinal < t.ordinal
  order by f.ordinal desc limit 1) end`;

/** Columns of a snapshot, from `tasks t` and `task_heads h`. */
export const SNAPSHOT_COLUMNS = `
t.task_key, t.task_id, t.tenant, t.session_id, t.type, t.agent_id, t.runner, t.backend_version_id, t.pool, h.state, h.run_no,
h.run_open, h.runtime_id, h.last_seq, t.current_step, t.result, t.usage, t.error, h.wait_id, t.waiting_on, h.stalled,
h.cancel_at is not null as cancel_requested, t.artifact_count, ${ms('t.last_heartbeat_at')} as last_heartbeat_at_ms,
${ms('h.progress_at')} as progress_at_ms, ${ms('t.deadline_at')} as deadline_at_ms,
${ms('h.held_until')} as held_until_ms, t.priority, t.detail, t.created_by,
${ms('t.created_at')} as created_at_ms, ${ms('h.started_at')} as started_at_ms, ${ms('h.last_at')} as updated_at_ms,
${ms('t.finished_at')} as finished_at_ms, ${BLOCKED_BY} as blocked_by,
case when h.wait_id is null then null else (
  select json_agg(json_build_object('tool_call_id', c.tool_call_id, 'kind', c.kind, 'tool_name', c.tool_name,
    'arguments', c.arguments, 'prompt', c.prompt, 'digest', c.digest, 'expires_at', ${ms('c.expires_at')},
    'wait_id', c.wait_id) order by c.position)
  from confirmations c where c.task_key = t.task_key and c.wait_id = h.wait_id and c.state = 'pending') end as pending`;

export interface SnapshotRow {
  readonly task_key: TaskKey;
  readonly task_id: TaskId;
  readonly tenant: string;
  readonly session_id: string | null;
  readonly type: string | null;
  readonly agent_id: string;
  readonly runner: string;
  readonly backend_version_id: string;
  readonly pool: string;
  readonly state: TaskState;
  readonly run_no: number;
  readonly run_open: boolean;
  readonly runtime_id: string | null;
  readonly last_seq: number;
  readonly current_step: string | null;
  readonly result: string | null;
  readonly usage: string | null;
  readonly error: string | null;
  readonly wait_id: string | null;
  readonly waiting_on: string | null;
  readonly stalled: boolean;
  readonly cancel_requested: boolean;
  readonly artifact_count: number;
  readonly last_heartbeat_at_ms: number | null;
  readonly progress_at_ms: number;
  readonly deadline_at_ms: number;
  readonly held_until_ms: number | null;
  readonly priority: number;
  readonly detail: Detail;
  readonly created_by: string;
  readonly created_at_ms: number;
  readonly started_at_ms: number | null;
  readonly updated_at_ms: number;
  readonly finished_at_ms: number | null;
  readonly blocked_by: TaskId | null;
  readonly pending: readonly PendingRow[] | null;
}

interface PendingRow {
  readonly tool_call_id: string;
  readonly kind: ConfirmationProjection['kind'];
  readonly tool_name: string | null;
  readonly arguments: string | null;
  readonly prompt: string | null;
  readonly digest: string;
  readonly expires_at: number;
  readonly wait_id: string;
}

function json<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T);
}

export function decodeSnapshot(row: SnapshotRow): TaskSnapshot {
  return {
    taskKey: row.task_key,
    taskId: row.task_id,
    tenant: row.tenant,
    sessionId: row.session_id,
    type: row.type,
    agentId: row.agent_id,
    backend: { runner: row.runner, version: row.backend_version_id },
    pool: row.pool,
    state: row.state,
    runNo: row.run_no,
    runOpen: row.run_open,
    runtimeId: row.runtime_id,
    lastSeq: row.last_seq,
    currentStep: row.current_step,
    result: json(row.result),
    usage: json(row.usage),
    error: json(row.error),
    pendingConfirmations: (row.pending ?? []).map(decodePending),
    waitId: row.wait_id,
    waitingOn: row.waiting_on,
    blockedBy: row.blocked_by,
    stalled: row.stalled,
    cancelRequested: row.cancel_requested,
    artifactCount: row.artifact_count,
    lastHeartbeatAtMs: row.last_heartbeat_at_ms,
    lastProgressAtMs: row.progress_at_ms,
    deadlineAtMs: row.deadline_at_ms,
    heldUntilMs: row.held_until_ms,
    priority: row.priority,
    detail: row.detail,
    createdBy: row.created_by,
    createdAtMs: row.created_at_ms,
    startedAtMs: row.started_at_ms,
    updatedAtMs: row.updated_at_ms,
    finishedAtMs: row.finished_at_ms,
  };
}

function decodePending(row: PendingRow): ConfirmationProjection {
  return {
    tool_call_id: row.tool_call_id,
    kind: row.kind,
    ...(row.tool_name === null ? {} : { tool_name: row.tool_name }),
    ...(row.arguments === null ? {} : { arguments: JSON.parse(row.arguments) as unknown }),
    ...(row.prompt === null ? {} : { prompt: row.prompt }),
    digest: row.digest,
    expires_at: new Date(row.expires_at).toISOString(),
    waitId: row.wait_id,
    state: 'pending',
    decidedBy: null,
    decision: null,
    decidedAtMs: null,
    usedBy: null,
  };
}

export const STEP_COLUMNS = `step_id, first_seq, name, state, attempt, error, ${ms('started_at')} as started_at_ms,
${ms('finished_at')} as finished_at_ms`;

export interface StepRow {
  readonly step_id: string;
  readonly first_seq: number;
  readonly name: string;
  readonly state: StepState;
  readonly attempt: number;
  readonly error: string | null;
  readonly started_at_ms: number;
  readonly finished_at_ms: number | null;
}

export function decodeStep(row: StepRow): StepProjection {
  return {
    stepId: row.step_id,
    name: row.name,
    state: row.state,
    attempt: row.attempt,
    error: json(row.error),
    startedAtMs: row.started_at_ms,
    finishedAtMs: row.finished_at_ms,
  };
}

/** The form of an artifact's id, which is what a cursor in a list of them holds. */
export const ARTIFACT_ID = /^art_[0-9a-f]{32}$/;

export const ARTIFACT_COLUMNS = `a.artifact_id, a.task_key, a.tenant, a.step_id, a.kind, a.name, a.media_type,
a.size::float8 as size, a.sha256, a.origin, a.relative_path, ${ms('a.created_at')} as created_at_ms`;

export interface ArtifactRow {
  readonly artifact_id: string;
  readonly task_key: TaskKey | null;
  readonly tenant: string;
  readonly step_id: string | null;
  readonly kind: ArtifactBody['kind'];
  readonly name: string;
  readonly media_type: string;
  readonly size: number;
  readonly sha256: string;
  readonly origin: string | null;
  readonly relative_path: string | null;
  readonly created_at_ms: number;
}

export function decodeArtifact(row: ArtifactRow): ArtifactRecord {
  return {
    ...decodeArtifactBody(row),
    taskKey: row.task_key,
    tenant: row.tenant,
    createdAtMs: row.created_at_ms,
  };
}

/** What events say of an artifact. */
export function decodeArtifactBody(row: ArtifactRow): ArtifactBody {
  return {
    artifact_id: row.artifact_id,
    ...(row.step_id === null ? {} : { step_id: row.step_id }),
    kind: row.kind,
    name: row.name,
    media_type: row.media_type,
    size: row.size,
    sha256: row.sha256,
    ...(row.origin === null ? {} : { origin: row.origin }),
    ...(row.relative_path === null ? {} : { relative_path: row.relative_path }),
  };
}
