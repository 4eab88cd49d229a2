import type { Statement } from '../database.js';
import { IN_LINE } from './session-submit.statement.js';

const KEY = 'tenant, agent_id, user_id, session_id';
const KEY_OF_S = 's.tenant, s.agent_id, s.user_id, s.session_id';
const SAME_AS_S = (other: string): string =>
  `s.tenant = ${other}.tenant and s.agent_id = ${other}.agent_id and s.user_id = ${other}.user_id and s.session_id = ${other}.session_id`;

const lock = (notes: string, how = ''): string => `
select ${KEY_OF_S} from sessions s join (select distinct ${KEY} from (${notes}) n) a using (${KEY})
order by ${KEY_OF_S} for no key update of s ${how}`;

/** Locks the sessions of these tasks' notes, in the order in which submissions do. */
export const LOCK_NOTED: Statement = {
  name: 'session-store.lock-noted',
  text: lock(`select ${KEY} from session_advance where task_key = any ($1::uuid[])`),
};

/** Locks sessions that have a note nobody has worked off in time, and that nobody holds. */
export const LOCK_DUE: Statement = {
  name: 'session-store.lock-due',
  text: lock(
    `select ${KEY} from session_advance where next_check_at <= clock_timestamp() order by next_check_at limit $1`,
    'skip locked',
  ),
};

/**
 * Works off the notes of sessions this transaction holds. The first in line gets the turn, unless it has had it, is held, or
 * is to be ended by a later one. Those that are to be ended are answered, and as long as there are any the notes stay; so
 * does a note that is younger than this statement's snapshot, or was left once more since.
 */
export const ADVANCE: Statement = {
  name: 'session-store.advance',
  text: `
with held as materialized (
  select s.* from sessions s join unnest($1::text[], $2::text[], $3::text[], $4::text[]) as i(${KEY}) using (${KEY})
),
overtaken as materialized (
  select ${KEY_OF_S}, t.task_key, t.task_id, h.state, h.run_no, h.run_open, h.runtime_id,
    h.cancel_at is not null as cancel_requested, b.task_id as by_task, b.created_by as by_principal
  from held s join tasks t on ${IN_LINE} and t.ordinal < s.overtaken
  join task_heads h using (task_key) join tasks b on b.task_key = s.overtaken_by
  where h.cancel_at is null or not h.run_open
),
turns as materialized (
  select ${KEY_OF_S}, f.task_key, f.ordinal, f.pool, f.priority
  from held s cross join lateral (
    select t.task_key, t.ordinal, t.pool, t.priority, h.held_until from tasks t join task_heads h using (task_key)
    where ${IN_LINE} order by t.ordinal limit 1
  ) f
  where f.ordinal > s.dispatched and f.ordinal >= s.overtaken and f.held_until is null
),
moved as (
  update sessions s set dispatched = f.ordinal from turns f where ${SAME_AS_S('f')}
),
dispatched as (
  insert into outbox (task_key, run_no, pool, priority, reason, next_check_at)
  select task_key, 1, pool, priority, 'submitted', clock_timestamp() + interval '2 s' from turns
  on conflict do nothing
),
kept as (
  update session_advance s set next_check_at = clock_timestamp() + interval '1 s'
  from (select distinct ${KEY} from overtaken) o where ${SAME_AS_S('o')}
),
seen as materialized (
  select n.task_key, n.next_check_at from session_advance n join held s on ${SAME_AS_S('n')}
),
done as (
  delete from session_advance s using seen n
  where s.task_key = n.task_key and s.next_check_at = n.next_check_at
    and not exists (select from overtaken o where ${SAME_AS_S('o')})
)
select
  (select json_agg(json_build_object('taskKey', task_key, 'tenant', tenant, 'pool', pool, 'priority', priority)) from turns) as turns,
  (select json_agg(json_build_object('taskKey', task_key, 'taskId', task_id, 'state', state, 'runNo', run_no,
    'runOpen', run_open, 'runtimeId', runtime_id, 'cancelRequested', cancel_requested,
    'by', json_build_object('tenant', tenant, 'taskId', by_task, 'principal', by_principal))) from overtaken) as overtaken`,
};
