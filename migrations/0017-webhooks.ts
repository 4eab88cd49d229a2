import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Subscriptions, callbacks, and the deliveries that the database itself makes with the events they tell of. */
export class Webhooks1764500000017 implements MigrationInterface {
  name = 'Webhooks1764500000017';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [WEBHOOKS, DELIVERIES, LANE, MAKE_DELIVERIES]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop trigger events_tell_webhooks on events;
      drop function make_deliveries(), callback_lane(text, text);
      drop table webhook_deliveries, callback_secrets, webhooks;
      alter table tasks drop column callback;`);
  }
}

/** Secrets are sealed before they come here. `reach`: whose tasks it tells of; `agent_ids`: null for all. */
const WEBHOOKS = `
alter table tasks add column callback text;

create table webhooks (
  webhook_id text not null constraint webhooks_pk primary key,
  tenant text not null,
  principal text not null,
  reach text not null check (reach in ('tenant', 'own')),
  url text not null,
  description text,
  events text[] not null,
  agent_ids text[],
  enabled boolean not null,
  stopped_by text check (stopped_by in ('owner', 'gone', 'failing')),
  stopped_at timestamptz(3),
  failing_since timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  version integer not null default 1,
  secret bytea not null,
  secret_since timestamptz(3) not null,
  old_secret bytea,
  old_secret_until timestamptz(3)
);
create index webhooks_by_tenant on webhooks (tenant, webhook_id);
create index webhooks_enabled on webhooks (tenant) where enabled;

create table callback_secrets (
  tenant text not null,
  principal text not null,
  secret bytea not null,
  secret_since timestamptz(3) not null,
  old_secret bytea,
  old_secret_until timestamptz(3),
  constraint callback_secrets_pk primary key (tenant, principal)
);
grant select, insert, update, delete on webhooks, callback_secrets to switchyard_app;
`;

/**
 * \`lane\`: the webhook, or one for all callbacks of a tenant to one origin. \`attempt\` counts claims and tells the newest
 * from those before; \`tries\` counts attempts since the delivery began or was last replayed. A delivery that is being sent
 * is due again when its lease is over: \`next_attempt_at\` is both.
 */
const DELIVERIES = `
create table webhook_deliveries (
  lane text not null,
  event_id uuid not null,
  task_key uuid not null,
  seq integer not null,
  tenant text not null,
  webhook_id text,
  event_type text not null,
  task_state text not null,
  run_no integer not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempt integer not null default 0,
  tries integer not null default 0,
  by_hand boolean not null default false,
  next_attempt_at timestamptz(3) not null,
  attempts jsonb not null default '[]',
  created_at timestamptz(3) not null,
  constraint webhook_deliveries_pk primary key (lane, event_id)
) with (fillfactor = 70);
create index webhook_deliveries_by_task on webhook_deliveries (task_key, lane, seq);
create index webhook_deliveries_pending on webhook_deliveries (lane, next_attempt_at) where state = 'pending';
create index webhook_deliveries_due on webhook_deliveries (next_attempt_at) where state = 'pending';
grant select, insert, update, delete on webhook_deliveries to switchyard_app;
`;

const LANE = `
create function callback_lane(tenant text, url text) returns text language sql immutable as $$
  select 'cb_' || left(encode(sha256(convert_to(
    tenant || chr(10) || lower(substring(url from '^[^:]+://[^/?#]+')), 'UTF8')), 'hex'), 32)
$$;
`;

/**
 * Makes the deliveries of an event in the statement that stores it, whoever that is. Rows are as the statement leaves
 * them: the head already stands where the event has brought it. Most events have nobody to tell, and looking whether one
 * has is all they pay: 7 of some 1,600 microseconds that a task takes. Names are written with their schema, since setting
 * the search path would cost as much again.
 */
export const MAKE_DELIVERIES = `
do $outer$ begin execute format($text$
create function make_deliveries() returns trigger language plpgsql as $$
begin
  if exists (select from %1$I.webhooks where enabled)
    or exists (select from %1$I.tasks where task_key = new.task_key and callback is not null) then
    insert into %1$I.webhook_deliveries (lane, event_id, task_key, seq, tenant, webhook_id, event_type, task_state, run_no,
      next_attempt_at, created_at)
    select r.lane, new.event_id, new.task_key, new.seq, t.tenant, r.webhook_id, new.event_type, h.state, h.run_no,
      new.at, new.at
    from %1$I.tasks t join %1$I.task_heads h using (task_key)
    cross join lateral (
      select w.webhook_id as lane, w.webhook_id from %1$I.webhooks w
      where w.tenant = t.tenant and w.enabled and new.event_type = any (w.events)
        and (w.agent_ids is null or t.agent_id = any (w.agent_ids))
        and (w.reach = 'tenant' or w.principal = t.created_by)
      union all
      select %1$I.callback_lane(t.tenant, t.callback), null where t.callback is not null
    ) r
    where t.task_key = new.task_key;
  end if;
  return null;
end $$;
$text$, current_schema()); end $outer$;

create trigger events_tell_webhooks after insert on events for each row
  when (new.event_type in ('task.succeeded', 'task.failed', 'task.cancelled', 'task.waiting_for_input', 'task.stalled',
    'task.recovered'))
  execute function make_deliveries();
`;
