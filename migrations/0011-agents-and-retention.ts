import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Versions of agents; how long tasks are kept after their end, and the one way their rows and events are removed. */
export class AgentsAndRetention1764500000011 implements MigrationInterface {
  name = 'AgentsAndRetention1764500000011';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [AGENTS, TERMS, KEYS, DELETIONS, THIN, DROP, LEFTOVERS, PRUNE])
      await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop function prune(integer), prune_tasks(integer), prune_partition(), prune_leftovers(integer);
      drop trigger events_append_only on events;
      create trigger events_append_only before update or delete on events for each row execute function refuse_change();
      drop function refuse_event_change();
      drop index submit_keys_by_task, submit_keys_gone, tasks_naming_artifacts;
      alter table submit_keys drop column gone_until;
      drop table retention;
      drop sequence agent_versions;`);
  }
}

/**
 * Versions of agents come from one sequence. Declarations are kept as they are written, not as they are read: what was
 * stored before is written again by the next gateway that starts, from its file.
 */
const AGENTS = `
create sequence agent_versions as integer;
grant usage on sequence agent_versions to switchyard_app;
select setval('agent_versions', max(version)) from agents having max(version) is not null;
delete from agents_file;
`;

/** Days after the end of a task; the row of the empty tenant holds for every tenant without one. Only the owner may write it. */
const TERMS = `
create table retention (
  tenant text not null constraint retention_pk primary key,
  days integer not null check (days between 1 and 36500)
);
insert into retention (tenant, days) values ('', 30);
grant select on retention to switchyard_app;
`;

/** A key outlives its task by 30 days, in which it answers that there was one. */
const KEYS = `
alter table submit_keys add column gone_until timestamptz(3);
create index submit_keys_by_task on submit_keys (task_key) where kind = 'idempotency';
create index submit_keys_gone on submit_keys (gone_until) where gone_until is not null;
create index tasks_naming_artifacts on tasks (tenant) where input_artifacts is not null and finished_at is null;
`;

/** Events are removed by their owner while it prunes, and by nobody else. */
const DELETIONS = `
create function refuse_event_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('switchyard.pruning', true) = 'on'
    and current_user = (select pg_get_userbyid(relowner) from pg_class where oid = tg_relid) then
    return old;
  end if;
  raise exception '% refuses %: it is append-only', tg_table_name, lower(tg_op) using errcode = 'insufficient_privilege';
end $$;

drop trigger events_append_only on events;
create trigger events_append_only before update or delete on events
  for each row execute function refuse_event_change();
`;

/**
 * Removes up to max_tasks tasks whose time is over, the oldest of each tenant first, with every row that carries their key and with
 * the sessions they were the last of. A
 * task stays while its session has yet to go on from it, and while an unfinished task names one of its artifacts.
 *
 * Events of tenants that keep theirs for less than the longest time are deleted, up to 20,000 at once. All others, and those of
 * a task that alone has more, can no longer be reached and go with their partition.
 */
const THIN = `
create function prune_tasks(max_tasks integer) returns integer
  language plpgsql security definer set search_path from current as $$
declare
  chosen uuid[];
  thinned uuid[];
  relation regclass;
begin
  with recursive tenants (tenant) as (
    (select t.tenant from tasks t order by t.tenant limit 1)
    union all
    select (select t.tenant from tasks t where t.tenant > p.tenant order by t.tenant limit 1)
    from tenants p where p.tenant is not null
  ),
  terms as (
    select n.tenant, coalesce(r.days, d.days) as days, clock_timestamp() - make_interval(days => coalesce(r.days, d.days)) as ended_before
    from tenants n left join retention r on r.tenant = n.tenant join retention d on d.tenant = ''
    where n.tenant is not null
  ),
  naming as materialized (
    select tenant, input_artifacts from tasks where input_artifacts is not null and finished_at is null
  ),
  due as (
    select d.task_key, d.events from terms s cross join lateral (
      select t.task_key, case when s.days < (select max(days) from retention) and h.last_seq <= 20000 then h.last_seq else 0 end as events
      from tasks t join task_heads h using (task_key)
      where t.tenant = s.tenant and t.task_key < partition_bound(s.ended_before) and t.finished_at < s.ended_before
        and not exists (select from session_advance a where a.task_key = t.task_key)
        and not exists (select from artifacts a join naming n on n.tenant = a.tenant
          where a.task_key = t.task_key and position(a.artifact_id in n.input_artifacts) > 0)
      order by t.task_key limit max_tasks
    ) d order by d.task_key limit max_tasks
  ),
  counted as (
    select task_key, events, sum(events) over (order by task_key) - events as before from due
  )
  select array_agg(task_key), array_agg(task_key) filter (where events > 0) into chosen, thinned
  from counted where before < 20000;
  if chosen is null then
    return 0;
  end if;

  perform from task_heads where task_key = any (chosen) order by task_key for update;
  update submit_keys k set gone_until = clock_timestamp() + interval '30 days'
  from tasks t where t.task_key = any (chosen) and k.tenant = t.tenant and k.kind = 'task_id' and k.owner = '' and k.key = t.task_id;
  update submit_keys set gone_until = clock_timestamp() + interval '30 days'
  where kind = 'idempotency' and task_key = any (chosen);

  -- A session goes with its last task, unless somebody is at it: whoever submits to it renews its time.
  with touched as (
    select distinct tenant, agent_id, coalesce(user_id, created_by) as user_id, session_id from tasks
    where task_key = any (chosen) and session_id is not null
  ),
  over as (
    select s.tenant, s.agent_id, s.user_id, s.session_id from sessions s join touched using (tenant, agent_id, user_id, session_id)
    where s.updated_at < clock_timestamp() - interval '1 hour' and not exists (
      select from tasks t where t.tenant = s.tenant and t.session_id = s.session_id and t.agent_id = s.agent_id
        and coalesce(t.user_id, t.created_by) = s.user_id and t.task_key <> all (chosen))
    for update of s skip locked
  ),
  forgotten as (
    delete from session_conversations c using over o
    where c.tenant = o.tenant and c.agent_id = o.agent_id and c.user_id = o.user_id and c.session_id = o.session_id
  )
  delete from sessions s using over o
  where s.tenant = o.tenant and s.agent_id = o.agent_id and s.user_id = o.user_id and s.session_id = o.session_id;

  perform set_config('switchyard.pruning', 'on', true);
  delete from events where task_key = any (thinned);
  perform set_config('switchyard.pruning', 'off', true);

  for relation in
    select c.oid from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and not c.relispartition
      and a.attname = 'task_key' and not a.attisdropped and c.relname <> 'submit_keys'
    order by c.relname
  loop
    execute format('delete from %s where task_key = any ($1)', relation) using chosen;
  end loop;
  if to_regclass('langgraph.checkpoints') is not null then
    delete from langgraph.checkpoint_writes where thread_id = any (chosen::text[]);
    delete from langgraph.checkpoint_blobs where thread_id = any (chosen::text[]);
    delete from langgraph.checkpoints where thread_id = any (chosen::text[]);
  end if;
  return cardinality(chosen);
end $$;
revoke execute on function prune_tasks(integer) from public;
`;

/**
 * Drops the oldest partition of events that no task is left in and whose day is past the longest time. Dropping locks the
 * log, and whoever wants to write waits behind it: nothing else is done in the transaction, and where somebody reads for
 * long it is left for another time.
 */
const DROP = `
create function prune_partition() returns integer
  language plpgsql security definer set search_path from current set lock_timeout to '200ms' as $$
declare
  part record;
  longest integer := (select max(days) from retention);
begin
  for part in
    select c.oid::regclass as name, d.day::timestamp at time zone 'UTC' as begins, (d.day + 1)::timestamp at time zone 'UTC' as ends
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
      cross join lateral (select to_date(right(c.relname, 8), 'YYYYMMDD') as day) d
    where i.inhparent = 'events'::regclass order by d.day
  loop
    exit when part.ends > clock_timestamp() - make_interval(days => longest);
    continue when exists (
      select from tasks where task_key >= partition_bound(part.begins) and task_key < partition_bound(part.ends));
    execute format('drop table %s', part.name);
    return 1;
  end loop;
  return 0;
exception when lock_not_available then
  return 0;
end $$;
revoke execute on function prune_partition() from public;
`;

/** Removes keys whose 30 days are over, and uploads as old as a task's end may be that no unfinished task names. */
const LEFTOVERS = `
create function prune_leftovers(max_rows integer) returns integer
  language plpgsql security definer set search_path from current as $$
declare
  removed integer;
  uploads integer;
begin
  delete from submit_keys where ctid = any (array(
    select ctid from submit_keys where gone_until < clock_timestamp() order by gone_until limit max_rows for update skip locked));
  get diagnostics removed = row_count;
  delete from artifacts where artifact_id = any (array(
    select a.artifact_id from artifacts a join retention d on d.tenant = '' left join retention r on r.tenant = a.tenant
    where a.task_key is null and a.created_at < clock_timestamp() - make_interval(days => coalesce(r.days, d.days))
      and not exists (select from tasks t where t.tenant = a.tenant and t.input_artifacts is not null and t.finished_at is null
        and position(a.artifact_id in t.input_artifacts) > 0)
    limit max_rows));
  get diagnostics uploads = row_count;
  return removed + uploads;
end $$;
revoke execute on function prune_leftovers(integer) from public;
`;

/**
 * One bounded step of the removal of what is past its time; answers how much was removed, 0 when nothing is left to do or
 * another process is at it.
 */
const PRUNE = `
create function prune(max_rows integer) returns integer
  language plpgsql security definer set search_path from current as $$
declare
  removed integer;
begin
  if not pg_try_advisory_xact_lock(hashtext('switchyard.prune')) then
    return 0;
  end if;
  removed := prune_tasks(max_rows);
  if removed = 0 then
    removed := prune_leftovers(max_rows);
  end if;
  if removed = 0 then
    removed := prune_partition();
  end if;
  return removed;
end $$;
revoke execute on function prune(integer) from public;
grant execute on function prune(integer) to switchyard_app;
`;
