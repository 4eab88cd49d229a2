import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Those who are told of every change of one task, and the deliveries that the database makes for them. */
export class PushConfigs1764500000026 implements MigrationInterface {
  name = 'PushConfigs1764500000026';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [CONFIGS, LANE, MAKE_PUSHES]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop trigger events_tell_push_configs on events;
      drop function make_pushes(), push_lane(text, text, integer);
      delete from webhook_deliveries where push_config is not null;
      alter table webhook_deliveries drop column push_config;
      drop table push_configs;`);
  }
}

/** `place` tells apart those of a task that share an origin; credentials are sealed before they come here. */
const CONFIGS = `
create table push_configs (
  task_key uuid not null,
  config_id text not null,
  place integer not null,
  tenant text not null,
  principal text not null,
  url text not null,
  credentials bytea,
  format text not null,
  created_at timestamptz(3) not null,
  constraint push_configs_pk primary key (task_key, config_id),
  constraint push_configs_place unique (task_key, place)
);
grant select, insert, update, delete on push_configs to switchyard_app;

alter table webhook_deliveries add column push_config text;
`;

const LANE = `
create function push_lane(tenant text, url text, place integer) returns text language sql immutable as $$
  select 'pc_' || left(encode(sha256(convert_to(
    tenant || chr(10) || lower(substring(url from '^[^:]+://[^/?#]+')) || chr(10) || place, 'UTF8')), 'hex'), 32)
$$;
`;

/**
 * Beside the one of migration 0017, and in its way. A lane is an origin of a tenant here too: whatever many tasks send to
 * one receiver is sent a few at a time. The time of a task without such configs is one look into an index per event told.
 */
export const MAKE_PUSHES = `
do $outer$ begin execute format($text$
create function make_pushes() returns trigger language plpgsql as $$
begin
  if exists (select from %1$I.push_configs where task_key = new.task_key) then
    insert into %1$I.webhook_deliveries (lane, event_id, task_key, seq, tenant, push_config, event_type, task_state, run_no,
      next_attempt_at, created_at)
    select %1$I.push_lane(p.tenant, p.url, p.place), new.event_id, new.task_key, new.seq, p.tenant, p.config_id,
      new.event_type, h.state, h.run_no, new.at, new.at
    from %1$I.push_configs p join %1$I.task_heads h using (task_key) where p.task_key = new.task_key;
  end if;
  return null;
end $$;
$text$, current_schema()); end $outer$;

create trigger events_tell_push_configs after insert on events for each row
  when (new.event_type in ('task.started', 'task.waiting_for_input', 'task.resumed', 'task.succeeded', 'task.failed',
    'task.cancelled', 'message.completed', 'artifact.created'))
  execute function make_pushes();
`;
