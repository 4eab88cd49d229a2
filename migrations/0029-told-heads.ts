import type { MigrationInterface, QueryRunner } from 'typeorm';
import { MAKE_DELIVERIES } from './0017-webhooks.js';
import { MAKE_PUSHES } from './0026-push-configs.js';

/** Deliveries are made once per statement, from the heads it has moved: rows of the log are written without a trigger. */
export class ToldHeads1764500000029 implements MigrationInterface {
  name = 'ToldHeads1764500000029';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [HEADS, TRIGGER]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop trigger heads_tell on task_heads;
      drop function tell();
      alter table task_heads drop column told;`);
    for (const statement of [MAKE_DELIVERIES, MAKE_PUSHES]) await runner.query(statement);
  }
}

/** \`told\`: somebody wants to hear of this very task, by its callback or by a config of pushes. */
const HEADS = `
alter table task_heads add column told boolean not null default false;
update task_heads set told = true where task_key in (
  select task_key from tasks where callback is not null union select task_key from push_configs);
drop trigger events_tell_push_configs on events;
drop function make_pushes();
drop trigger events_tell_webhooks on events;
drop function make_deliveries();
`;

/**
 * No event is stored without its head being moved, in one statement. What that statement leaves is what a delivery tells of:
 * the state of the task is the one the event has brought about. Names are written with their schema, since setting the
 * search path would cost more than the look that most statements end with.
 */
const TRIGGER = `
do $outer$ begin execute format($text$
create function tell() returns trigger language plpgsql as $$
begin
  if exists (select from %1$I.webhooks where enabled) or exists (select from heads where told) then
    insert into %1$I.webhook_deliveries (lane, event_id, task_key, seq, tenant, webhook_id, push_config, event_type,
      task_state, run_no, next_attempt_at, created_at)
    select r.lane, e.event_id, e.task_key, e.seq, t.tenant, r.webhook_id, r.push_config, e.event_type, h.state, h.run_no,
      e.at, e.at
    from heads h join heads_before b using (task_key)
    join %1$I.events e on e.task_key = h.task_key and e.seq > b.last_seq and e.seq <= h.last_seq
    join %1$I.tasks t on t.task_key = h.task_key
    cross join lateral (
      select w.webhook_id as lane, w.webhook_id, null as push_config from %1$I.webhooks w
      where w.tenant = t.tenant and w.enabled and e.event_type = any (w.events)
        and (w.agent_ids is null or t.agent_id = any (w.agent_ids))
        and (w.reach = 'tenant' or w.principal = t.created_by)
      union all
      select %1$I.callback_lane(t.tenant, t.callback), null, null
      where t.callback is not null and e.event_type in ('task.succeeded', 'task.failed', 'task.cancelled',
        'task.waiting_for_input', 'task.stalled', 'task.recovered')
      union all
      select %1$I.push_lane(p.tenant, p.url, p.place), null, p.config_id from %1$I.push_configs p
      where p.task_key = h.task_key and e.event_type in ('task.started', 'task.waiting_for_input', 'task.resumed',
        'task.succeeded', 'task.failed', 'task.cancelled', 'message.completed', 'artifact.created')
    ) r
    order by e.task_key, e.seq;
  end if;
  return null;
end $$;
$text$, current_schema()); end $outer$;

create trigger heads_tell after update on task_heads referencing old table as heads_before new table as heads
  for each statement execute function tell();
`;
