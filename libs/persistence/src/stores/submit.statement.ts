import type { Submission } from '#lib/domain';
import { newEventId } from '#lib/platform';
import type { Statement } from '../database.js';
import { uuidOf } from './event-id.js';

/**
 * Keys, task, head, first event, audit record and outbox row of many submissions, in one statement. A key that exists
 * is answered with the task it names and nothing is written for that submission. Keys go in in a fixed order, so that two
 * gateways cannot wait for each other. A batch must not hold the same key twice.
 */
export const SUBMIT: Statement = {
  name: 'task-store.submit',
  text: `
with input as (
  select * from unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::int[], $16::timestamptz[],
    $17::text[], $18::text[], $19::uuid[], $20::text[], $21::uuid[], $22::text[], $23::text[], $24::text[],
    $25::text[], $26::text[])
    as i(task_key, task_id, idempotency_key, body_hash, tenant, principal, agent_id, type, user_id, session_id,
      backend_version_id, runner, pool, detail, priority, deadline_at, input, context, event_id, payload,
      audit_id, key_id, audit_details, request_id, client_tools, allowed_tools)
),
tick as materialized (select date_trunc('milliseconds', clock_timestamp()) as at),
by_key as (
  insert into submit_keys (tenant, kind, owner, key, task_key, principal, body_hash)
  select tenant, 'idempotency', principal, idempotency_key, task_key, principal, body_hash
  from input where idempotency_key is not null order by tenant, principal, idempotency_key
  on conflict (tenant, kind, owner, key) do update set task_key = submit_keys.task_key
  returning tenant, owner, key, task_key, principal, body_hash
),
by_id as (
  insert into submit_keys (tenant, kind, owner, key, task_key, principal, body_hash)
  select tenant, 'task_id', '', task_id, task_key, principal, body_hash
  from input i where i.idempotency_key is null or exists (select from by_key k where k.task_key = i.task_key)
  order by tenant, task_id
  on conflict (tenant, kind, owner, key) do update set task_key = submit_keys.task_key
  returning tenant, key, task_key, principal, body_hash
),
fresh as (select i.*, tick.at from input i join by_id d on d.task_key = i.task_key cross join tick),
heads as (
  insert into task_heads (task_key, state, last_seq, last_at, progress_at) select task_key, 'queued', 1, at, at from fresh
),
rows as (
  insert into tasks (task_key, tenant, task_id, agent_id, type, user_id, session_id, backend_version_id, runner, pool,
    detail, priority, deadline_at, created_by, created_at, input, context, client_tools, allowed_tools)
  select task_key, tenant, task_id, agent_id, type, user_id, session_id, backend_version_id, runner, pool,
    detail, priority, deadline_at, principal, at, input, context, client_tools, allowed_tools from fresh
),
first_events as (
  insert into events (task_key, seq, event_id, event_type, at, payload)
  select task_key, 1, event_id, 'task.created', at, payload from fresh
),
audited as (
  insert into audit_records (id, tenant, principal, key_id, action, target, outcome, details, request_id)
  select audit_id, tenant, principal, key_id, 'task.submit', task_id, 'allowed', audit_details, request_id from fresh
),
dispatched as (
  insert into outbox (task_key, run_no, pool, priority, reason, next_check_at)
  select task_key, 1, pool, priority, 'submitted', at + interval '2 s' from fresh
)
select i.task_key as asked, coalesce(k.task_key, d.task_key) as task_key, coalesce(k.principal, d.principal) as principal,
  coalesce(k.body_hash, d.body_hash) as body_hash, (extract(epoch from tick.at) * 1000)::float8 as at_ms
from input i cross join tick
left join by_key k on k.tenant = i.tenant and k.owner = i.principal and k.key = i.idempotency_key and k.task_key <> i.task_key
left join by_id d on d.tenant = i.tenant and d.key = i.task_id`,
};

export interface SubmitRow {
  readonly asked: string;
  readonly task_key: string;
  readonly principal: string;
  readonly body_hash: Buffer;
  readonly at_ms: number;
}

export function submitColumns(batch: readonly Submission[]): unknown[] {
  const column = (pick: (submission: Submission) => unknown): unknown[] => batch.map(pick);
  return [
    column((s) => s.taskKey),
    column((s) => s.taskId),
    column((s) => s.idempotencyKey ?? null),
    column((s) => s.bodyHash),
    column((s) => s.tenant),
    column((s) => s.principal),
    column((s) => s.agentId),
    column((s) => s.type ?? null),
    column((s) => s.userId ?? null),
    column((s) => s.sessionId ?? null),
    column((s) => s.backendVersionId),
    column((s) => s.runner),
    column((s) => s.pool),
    column((s) => s.detail),
    column((s) => s.priority),
    column((s) => new Date(s.deadlineAtMs).toISOString()),
    column((s) => s.input),
    column((s) => s.context),
    column((s) => uuidOf(s.created.eventId)),
    column((s) => s.created.json),
    column(() => uuidOf(newEventId())),
    column((s) => s.audit.keyId),
    column((s) => s.audit.details),
    column((s) => s.audit.requestId),
    column((s) => s.clientTools ?? null),
    column((s) => (s.allowedTools ? JSON.stringify(s.allowedTools) : null)),
  ];
}
