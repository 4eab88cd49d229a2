import type { Statement } from '../database.js';

/** Locks in the order of appends, or the two would deadlock. A run that is not answered is not ours any more. */
export const RENEW: Statement = {
  name: 'lease.renew',
  text: `
with held as (
  select h.task_key from task_heads h
  join unnest($1::uuid[], $2::int[]) as r(task_key, run_no) on r.task_key = h.task_key and r.run_no = h.run_no
  where h.run_open and h.runtime_id = $3 order by h.task_key for no key update of h
)
update task_heads h set lease_until = clock_timestamp() + $4::int * interval '1 ms'
from held where h.task_key = held.task_key
returning h.task_key, h.run_no, (extract(epoch from clock_timestamp() - h.cancel_at) * 1000)::float8 as cancelled_ms`,
};

/** Skips what an append is at work on: it waits for nobody, so it can deadlock with nobody. */
export const BEAT: Statement = {
  name: 'lease.beat',
  text: `
update tasks set last_heartbeat_at = clock_timestamp()
where task_key = any (array(select task_key from tasks where task_key = any ($1::uuid[]) for no key update skip locked))`,
};
