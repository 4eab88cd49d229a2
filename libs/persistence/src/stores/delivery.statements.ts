import type { Statement } from '../database.js';
import { insertAudit, insertAuditValues } from './audit.columns.js';

/** Gives up what is pending and nobody is at work on: those who are would otherwise wait for us, and we for them. */
export function giveUp(where: string): string {
  return `update webhook_deliveries d set state = 'failed' from (
    select lane, event_id from webhook_deliveries where state = 'pending' and ${where} for update skip locked) p
  where d.lane = p.lane and d.event_id = p.event_id`;
}

/** One look into the index per lane that has anything pending, however much that is. */
export const DUE_LANES: Statement = {
  name: 'delivery-store.due-lanes',
  text: `
with recursive lanes (lane, n) as (
  (select lane, 1 from webhook_deliveries where state = 'pending' and lane > $1 order by lane limit 1)
  union all
  select (select d.lane from webhook_deliveries d where d.state = 'pending' and d.lane > l.lane order by d.lane limit 1), l.n + 1
  from lanes l where l.lane is not null and l.n < $2
)
select l.lane, c.due, c.tenant from lanes l cross join lateral (
  select count(*)::int as due, min(tenant) as tenant from (
    select d.tenant from webhook_deliveries d
    where d.lane = l.lane and d.state = 'pending' and d.next_attempt_at <= clock_timestamp() limit $3) d
) c
where l.lane is not null order by l.lane`,
};

/**
 * Of what is due in the lane, the first that has no earlier one of its task in front of it. Those that have are put off
 * until that one is looked at again, at least by a second; a replay by hand holds nobody up. What somebody else is
 * claiming at this moment is skipped, and still in front of what comes after it.
 */
export const CLAIM_DELIVERY: Statement = {
  name: 'delivery-store.claim',
  text: `
with candidates as (
  select lane, event_id, task_key, seq, by_hand, next_attempt_at from webhook_deliveries
  where lane = $1 and state = 'pending' and next_attempt_at <= clock_timestamp()
  order by next_attempt_at limit 16 for update skip locked
),
judged as materialized (
  select c.*, case when not c.by_hand then (
    select e.next_attempt_at from webhook_deliveries e
    where e.task_key = c.task_key and e.lane = c.lane and e.seq < c.seq and e.state = 'pending' and not e.by_hand
    order by e.seq limit 1) end as behind
  from candidates c
),
chosen as materialized (
  select lane, event_id from judged where behind is null order by next_attempt_at, task_key, seq limit 1
),
put_off as (
  update webhook_deliveries d set next_attempt_at = greatest(j.behind, clock_timestamp() + interval '1 s')
  from judged j where j.behind is not null and d.lane = j.lane and d.event_id = j.event_id
),
claimed as (
  update webhook_deliveries d set attempt = d.attempt + 1, next_attempt_at = clock_timestamp() + $2::float8 * interval '1 ms'
  from chosen c where d.lane = c.lane and d.event_id = c.event_id
  returning d.*
)
select d.event_id, d.task_key, d.attempt, d.tries, d.tenant, d.webhook_id, d.event_type, d.seq, d.task_state, d.run_no,
  t.task_id, t.agent_id, t.type, t.session_id, t.created_by, t.created_at, e.at, e.payload,
  d.push_config, p.format as push_format, p.credentials as push_credentials,
  case when d.push_config is not null then p.url when d.webhook_id is null then t.callback when w.enabled then w.url end as url,
  coalesce(w.secret, c.secret) as secret,
  case when coalesce(w.old_secret_until, c.old_secret_until) > clock_timestamp()
    then coalesce(w.old_secret, c.old_secret) end as old_secret
from claimed d join tasks t using (task_key) join events e on e.task_key = d.task_key and e.seq = d.seq
left join webhooks w on w.webhook_id = d.webhook_id
left join push_configs p on p.task_key = d.task_key and p.config_id = d.push_config
left join callback_secrets c on d.webhook_id is null and c.tenant = t.tenant and c.principal = t.created_by`,
};

/** Attempts kept per delivery. */
const MAX_ATTEMPTS = 30;

/**
 * $1 lane, $2 event, $3 attempt, $4 state, $5 ms until the next attempt (null: none), $6 tries to count, $7 record of the attempt,
 * $8 delivered, $9 the endpoint says it is gone, $10 ms of failing after which it is switched off, $11 id of an audit record.
 * The webhook's row is touched only where something about it changes.
 */
export const SETTLE: Statement = {
  name: 'delivery-store.settle',
  text: `
with settled as (
  update webhook_deliveries d set state = $4, tries = d.tries + $6,
    next_attempt_at = clock_timestamp() + coalesce($5::float8, 0) * interval '1 ms',
    attempts = (case when jsonb_array_length(d.attempts) >= ${MAX_ATTEMPTS} then d.attempts - 0 else d.attempts end) || $7::jsonb
  where d.lane = $1 and d.event_id = $2 and d.attempt = $3 and d.state = 'pending'
  returning d.lane, d.event_id, d.task_key, d.seq, d.webhook_id, d.state, d.by_hand
),
followers as (
  update webhook_deliveries d set next_attempt_at = clock_timestamp()
  from settled s
  where s.state <> 'pending' and d.task_key = s.task_key and d.lane = s.lane and d.seq > s.seq and d.state = 'pending'
    and d.attempt = 0
),
touched as materialized (
  select w.webhook_id, not $8::bool and ($9::bool or w.failing_since < clock_timestamp() - $10::float8 * interval '1 ms') is true as stops
  from settled s join webhooks w on w.webhook_id = s.webhook_id
  where w.enabled and case when $8 then w.failing_since is not null
    else $9 or w.failing_since is null or w.failing_since < clock_timestamp() - $10::float8 * interval '1 ms' end
  for no key update of w
),
endpoint as (
  update webhooks w set
    failing_since = case when $8 then null else coalesce(w.failing_since, clock_timestamp()) end,
    enabled = not t.stops,
    stopped_by = case when not t.stops then null when $9 then 'gone' else 'failing' end,
    stopped_at = case when t.stops then clock_timestamp() end,
    version = w.version + case when t.stops then 1 else 0 end
  from touched t where w.webhook_id = t.webhook_id
  returning w.webhook_id, w.tenant, w.enabled, w.stopped_by, w.failing_since
),
stopped as (select * from endpoint where not enabled),
audited as (
  ${insertAudit('stopped', {
    id: '$11::uuid',
    principal: "'system'",
    key_id: "''",
    action: "'webhook.disable'",
    target: 'webhook_id',
    outcome: "'allowed'",
    details: "json_build_object('reason', stopped_by, 'failing_since', failing_since)::text",
    request_id: "''",
  })}
)
select (select stopped_by from stopped) as stopped from settled`,
};

/** What is left for a webhook that is off, or for the callbacks of a task whose receiver wants no more. */
export const GIVE_UP: Statement = {
  name: 'delivery-store.give-up',
  text: `
${giveUp('lane = $1 and ($2::uuid is null or task_key = $2)')}`,
};

const RECORD = `
d.event_id, t.task_id, d.event_type, d.seq, d.state, d.created_at, d.attempts,
case when d.state = 'pending' then d.next_attempt_at end as next_attempt_at`;

export const LIST_OF_WEBHOOK: Statement = {
  name: 'delivery-store.list-of-webhook',
  text: `
select ${RECORD} from webhook_deliveries d join tasks t using (task_key)
where d.lane = $1 and ($2::uuid is null or d.event_id < $2) order by d.event_id desc limit $3`,
};

export const LIST_OF_TASK: Statement = {
  name: 'delivery-store.list-of-task',
  text: `
select ${RECORD} from webhook_deliveries d join tasks t using (task_key)
where d.task_key = $1 and d.webhook_id is null and d.push_config is null and ($2::uuid is null or d.event_id < $2) order by d.event_id desc limit $3`,
};

/** $1 lane or null, $2 task or null: one of them says whose it has to be. */
export const REPLAY: Statement = {
  name: 'delivery-store.replay',
  text: `
with d as (
  update webhook_deliveries d set state = 'pending', tries = 0, by_hand = d.by_hand or d.state <> 'pending',
    next_attempt_at = clock_timestamp()
  where d.event_id = $3 and (d.lane = $1 or $1::text is null and d.task_key = $2 and d.webhook_id is null and d.push_config is null)
  returning *
),
audited as (${insertAuditValues(4, 'd')})
select ${RECORD} from d join tasks t using (task_key)`,
};

export const COUNT_DUE: Statement = {
  name: 'delivery-store.count-due',
  text: `
select count(*)::int as due from (
  select from webhook_deliveries where state = 'pending' and next_attempt_at <= clock_timestamp() limit $1) d`,
};
