import type { Submission } from '#lib/domain';
import type { Statement } from '../database.js';
import {
  ANSWER,
  type Columns,
  KEYS,
  MADE,
  NAMED,
  SUBMIT_COLUMNS,
  type SubmitRow,
  unnestSubmissions,
} from './submit.statement.js';

/** The user of a submission's session. */
export function sessionUserOf({ userId, principal }: Submission): string {
  return userId ?? principal;
}

/** The session a task `t` is in line of; `tasks_in_line` is the index. */
export const IN_LINE = `t.tenant = s.tenant and t.agent_id = s.agent_id and coalesce(t.user_id, t.created_by) = s.user_id
      and t.session_id = s.session_id and t.ordinal is not null and t.finished_at is null`;

/**
 * Makes the sessions that are new, and locks each until the transaction ends. In a fixed order: two gateways cannot wait
 * for each other. What the lock guards is read by the next statement, whose snapshot is younger.
 */
export const LOCK_SESSIONS: Statement = {
  name: 'task-store.lock-sessions',
  text: `
insert into sessions as s (tenant, agent_id, user_id, session_id, backend_version_id, created_by, updated_at)
select distinct on (tenant, agent_id, user_id, session_id)
  tenant, agent_id, user_id, session_id, backend_version_id, principal, clock_timestamp()
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) with ordinality
  as i(tenant, agent_id, user_id, session_id, backend_version_id, principal, place)
order by tenant, agent_id, user_id, session_id, place
on conflict (tenant, agent_id, user_id, session_id) do update set updated_at = excluded.updated_at,
  created_by = coalesce(s.created_by, excluded.created_by)`,
};

export function lockValues(batch: readonly Submission[]): unknown[] {
  return [
    batch.map((s) => s.tenant),
    batch.map((s) => s.agentId),
    batch.map(sessionUserOf),
    batch.map((s) => s.sessionId),
    batch.map((s) => s.backendVersionId),
    batch.map((s) => s.principal),
  ];
}

export const SESSION_SUBMIT_COLUMNS: Columns = {
  ...SUBMIT_COLUMNS,
  strategy: { type: 'text', of: (s) => s.sessionStrategy ?? 'enqueue' },
  reaches_others: { type: 'bool', of: (s) => s.reachesOthers ?? false },
};

/**
 * The submit statement for tasks of sessions that this transaction holds. Repeats pass whatever the strategy; of the
 * others those go in whose session is their principal's, or who reach the tasks of others, whose backend is the session's
 * and that the strategy admits. They get the next ordinals in the order
 * they came in; the first is dispatched if the session has no unfinished task, unless it is held: its turn comes when it is released. One that is to end the others before it
 * says so in the session's row, and leaves a note that somebody has to.
 * A batch holds at most one task per session whose strategy is not `enqueue`, and that one first.
 */
export const SESSION_SUBMIT: Statement = {
  name: 'task-store.session-submit',
  text: `
with asked as (
  select i.*, coalesce(user_id, principal) as session_owner from ${unnestSubmissions(SESSION_SUBMIT_COLUMNS)}
),
held as materialized (
  select s.*, exists (select from tasks t where ${IN_LINE}) as is_busy
  from sessions s join (select distinct tenant, agent_id, session_owner as user_id, session_id from asked) a
    using (tenant, agent_id, user_id, session_id)
),
judged as materialized (
  select a.*, s.next_ordinal, s.is_busy, s.backend_version_id as kept_backend,
    case
      when exists (select from submit_keys k where k.tenant = a.tenant and k.kind = 'idempotency'
        and k.owner = a.principal and k.key = a.idempotency_key)
        or exists (select from submit_keys k where k.tenant = a.tenant and k.kind = 'task_id'
        and k.owner = '' and k.key = a.task_id) then 'known'
      when s.created_by <> a.principal and not a.reaches_others then 'foreign'
      when s.backend_version_id <> a.backend_version_id then 'elsewhere'
      when s.is_busy and a.strategy = 'reject' then 'busy'
      else 'admitted'
    end as verdict
  from asked a join held s on s.tenant = a.tenant and s.agent_id = a.agent_id and s.user_id = a.session_owner
    and s.session_id = a.session_id
),
input as (select * from judged where verdict in ('known', 'admitted')),
${KEYS},
fresh as materialized (
  select i.*, tick.at, i.next_ordinal - 1 + row_number() over (
    partition by i.tenant, i.agent_id, i.session_owner, i.session_id order by i.place) as ordinal
  from input i join by_id d on d.task_key = i.task_key cross join tick
),
${MADE},
dispatched as (
  insert into outbox (task_key, run_no, pool, priority, reason, next_check_at)
  select task_key, 1, pool, priority, 'submitted', at + interval '2 s'
  from fresh where not is_busy and ordinal = next_ordinal and held_until is null
),
moved as (
  update sessions s set next_ordinal = f.last + 1, updated_at = f.at,
    dispatched = case when f.is_busy or f.is_held then s.dispatched else s.next_ordinal end,
    overtaken = coalesce(f.overtaken, s.overtaken), overtaken_by = coalesce(f.overtaken_by, s.overtaken_by)
  from (
    select tenant, agent_id, session_owner, session_id, at, is_busy, max(ordinal) as last,
      bool_or(ordinal = next_ordinal and held_until is not null) as is_held,
      max(ordinal) filter (where is_busy and strategy = 'interrupt') as overtaken,
      (array_agg(task_key) filter (where is_busy and strategy = 'interrupt'))[1] as overtaken_by
    from fresh group by tenant, agent_id, session_owner, session_id, at, is_busy
  ) f
  where s.tenant = f.tenant and s.agent_id = f.agent_id and s.user_id = f.session_owner and s.session_id = f.session_id
),
noted as (
  insert into session_advance (task_key, tenant, agent_id, user_id, session_id, next_check_at)
  select task_key, tenant, agent_id, session_owner, session_id, at + interval '1 s'
  from fresh where is_busy and strategy = 'interrupt'
)
select ${ANSWER}, i.verdict, b.id as backend_id, b.runner as backend_runner, b.pool as backend_pool,
  case when f.is_busy then case f.strategy when 'interrupt' then 'over' else 'later' end
    when f.ordinal = f.next_ordinal and f.held_until is null then 'now' else 'later' end as turn
from judged i cross join tick ${NAMED}
left join fresh f on f.task_key = i.task_key
left join backend_versions b on i.verdict = 'elsewhere' and b.id = i.kept_backend`,
};

export interface SessionSubmitRow extends SubmitRow {
  readonly verdict: 'known' | 'foreign' | 'elsewhere' | 'busy' | 'admitted';
  readonly turn: 'now' | 'later' | 'over';
  readonly backend_id: string;
  readonly backend_runner: string;
  readonly backend_pool: string;
}
