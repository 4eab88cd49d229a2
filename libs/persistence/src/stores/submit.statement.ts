import type { Submission } from '#lib/domain';
import { newEventId } from '#lib/platform';
import type { Statement } from '../database.js';
import { type AuditSources, insertAudit } from './audit.columns.js';
import { uuidOf } from './event-id.js';

export type Columns = Readonly<Record<string, Column>>;

interface Column {
  readonly type: string;
  readonly of: (submission: Submission) => unknown;
}

const text = (of: Column['of']): Column => ({ type: 'text', of });
const uuid = (of: Column['of']): Column => ({ type: 'uuid', of });

/** What of a submission travels to the statement, each column as one array. */
export const SUBMIT_COLUMNS: Columns = {
  task_key: uuid((s) => s.taskKey),
  task_id: text((s) => s.taskId),
  idempotency_key: text((s) => s.idempotencyKey ?? null),
  body_hash: { type: 'bytea', of: (s) => s.bodyHash },
  tenant: text((s) => s.tenant),
  principal: text((s) => s.principal),
  agent_id: text((s) => s.agentId),
  type: text((s) => s.type ?? null),
  user_id: text((s) => s.userId ?? null),
  session_id: text((s) => s.sessionId ?? null),
  backend_version_id: text((s) => s.backendVersionId),
  runner: text((s) => s.runner),
  pool: text((s) => s.pool),
  detail: text((s) => s.detail),
  priority: { type: 'int', of: (s) => s.priority },
  deadline_at: { type: 'timestamptz', of: (s) => new Date(s.deadlineAtMs).toISOString() },
  held_until: {
    type: 'timestamptz',
    of: (s) => (s.heldUntilMs === undefined ? null : new Date(s.heldUntilMs).toISOString()),
  },
  input: text((s) => s.input),
  context: text((s) => s.context),
  event_id: uuid((s) => uuidOf(s.created.eventId)),
  payload: text((s) => s.created.json),
  audit_id: uuid(() => uuidOf(newEventId())),
  key_id: text((s) => s.audit.keyId),
  audit_details: text((s) => s.audit.details),
  request_id: text((s) => s.audit.requestId),
  client_tools: text((s) => s.clientTools ?? null),
  allowed_tools: text((s) => (s.allowedTools ? JSON.stringify(s.allowedTools) : null)),
  input_artifacts: text((s) => (s.inputArtifacts ? JSON.stringify(s.inputArtifacts) : null)),
  callback: text((s) => s.callbackUrl ?? null),
};

/** Submissions as rows, in their order by `place`. */
export function unnestSubmissions(columns: Columns): string {
  const arrays = Object.values(columns).map(({ type }, index) => `$${index + 1}::${type}[]`);
  return `unnest(${arrays.join(', ')}) with ordinality as i(${Object.keys(columns).join(', ')}, place)`;
}

const TICK = `tick as materialized (select date_trunc('milliseconds', clock_timestamp()) as at)`;

const byId = (where: string): string => `by_id as (
  insert into submit_keys (tenant, kind, owner, key, task_key, principal, body_hash)
  select tenant, 'task_id', '', task_id, task_key, principal, body_hash
  from input i ${where} order by tenant, task_id
  on conflict (tenant, kind, owner, key) do update set task_key = submit_keys.task_key
  returning tenant, key, task_key, principal, body_hash
)`;

/**
 * Keys and what they come to. A key that exists is answered with the task it names; `by_id` holds a row of its own for
 * those submissions only that are new. Keys go in in a fixed order, so that two gateways cannot wait for each other.
 */
export const KEYS = `
${TICK},
by_key as (
  insert into submit_keys (tenant, kind, owner, key, task_key, principal, body_hash)
  select tenant, 'idempotency', principal, idempotency_key, task_key, principal, body_hash
  from input where idempotency_key is not null order by tenant, principal, idempotency_key
  on conflict (tenant, kind, owner, key) do update set task_key = submit_keys.task_key
  returning tenant, owner, key, task_key, principal, body_hash
),
${byId('where i.idempotency_key is null or exists (select from by_key k where k.task_key = i.task_key)')}`;

const FROM_SUBMISSION: AuditSources = {
  id: 'audit_id',
  action: "'task.submit'",
  target: 'task_id',
  outcome: "'allowed'",
  details: 'audit_details',
};

/** Head, task, first event and audit record of what is new. */
export const MADE = `
heads as (
  insert into task_heads (task_key, state, last_seq, last_at, progress_at, held_until, told)
  select task_key, 'queued', 1, at, at, held_until, callback is not null from fresh
),
rows as (
  insert into tasks (task_key, tenant, task_id, agent_id, type, user_id, session_id, ordinal, backend_version_id, runner,
    pool, detail, priority, deadline_at, created_by, created_at, input, context, client_tools, allowed_tools,
    input_artifacts, callback)
  select task_key, tenant, task_id, agent_id, type, user_id, session_id, ordinal, backend_version_id, runner,
    pool, detail, priority, deadline_at, principal, at, input, context, client_tools, allowed_tools,
    input_artifacts, callback from fresh
),
first_events as (
  insert into events (task_key, seq, event_id, event_type, at, payload)
  select task_key, 1, event_id, 'task.created', at, payload from fresh
),
audited as (
  ${insertAudit('fresh', FROM_SUBMISSION)}
)`;

const AT_MS = '(extract(epoch from tick.at) * 1000)::float8 as at_ms';

/** What each submission came to, and the rows its keys name. */
export const ANSWER = `
i.task_key as asked, coalesce(k.task_key, d.task_key) as task_key, coalesce(k.principal, d.principal) as principal,
  coalesce(k.body_hash, d.body_hash) as body_hash, ${AT_MS}`;
export const NAMED = `
left join by_key k on k.tenant = i.tenant and k.owner = i.principal and k.key = i.idempotency_key and k.task_key <> i.task_key
left join by_id d on d.tenant = i.tenant and d.key = i.task_id`;

const submit = (keys: string, answer: string): string => `
with input as (select * from ${unnestSubmissions(SUBMIT_COLUMNS)}),
${keys},
fresh as (
  select i.*, tick.at, null::bigint as ordinal from input i join by_id d on d.task_key = i.task_key cross join tick
),
${MADE},
dispatched as (
  insert into outbox (task_key, run_no, pool, priority, reason, next_check_at)
  select task_key, 1, pool, priority, 'submitted', at + interval '2 s' from fresh where held_until is null
)
select ${answer}`;

/**
 * Keys, task, head, first event, audit record and outbox row of many submissions, in one statement; what is held has
 * none of the last. A batch must not hold the same key twice.
 */
export const SUBMIT: Statement = {
  name: 'task-store.submit',
  text: submit(KEYS, `${ANSWER}\nfrom input i cross join tick ${NAMED}`),
};

/** The same for submissions without an idempotency key, which then is not looked for. */
export const SUBMIT_UNNAMED: Statement = {
  name: 'task-store.submit-unnamed',
  text: submit(
    `${TICK},\n${byId('')}`,
    `i.task_key as asked, d.task_key, d.principal, d.body_hash, ${AT_MS}
from input i cross join tick left join by_id d on d.tenant = i.tenant and d.key = i.task_id`,
  ),
};

/** The parameters of a statement over these columns. */
export function submitValues(batch: readonly Submission[], columns: Columns = SUBMIT_COLUMNS): unknown[] {
  return Object.values(columns).map(({ of }) => batch.map(of));
}

export interface SubmitRow {
  readonly asked: string;
  /** Null: nothing was written and no key names a task. */
  readonly task_key: string | null;
  readonly principal: string;
  readonly body_hash: Buffer;
  readonly at_ms: number;
}
