import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tasks, their heads, the partitioned event log and the rows projected from it. */
export class Log1764500000001 implements MigrationInterface {
  name = 'Log1764500000001';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [TASKS, EVENTS, PARTITIONS, PROJECTIONS]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop table confirmations, artifacts, steps, checkpoints, events, task_heads, tasks, submit_keys;
      drop function ensure_partitions(integer, integer), partition_bound(timestamptz), refuse_change();`);
  }
}

const TASKS = `
create table submit_keys (
  tenant text not null,
  kind text not null check (kind in ('task_id', 'idempotency')),
  owner text not null,
  key text not null,
  task_key uuid not null,
  principal text not null,
  body_hash bytea not null,
  constraint submit_keys_pk primary key (tenant, kind, owner, key)
);

create table tasks (
  task_key uuid not null constraint tasks_pk primary key,
  tenant text not null,
  task_id text not null,
  agent_id text not null,
  type text,
  session_id text,
  user_id text,
  ordinal bigint,
  backend_version_id text not null,
  runner text not null,
  pool text not null,
  detail text not null,
  priority smallint not null,
  deadline_at timestamptz(3) not null,
  created_by text not null,
  created_at timestamptz(3) not null,
  input text not null,
  context text not null,
  current_step text,
  waiting_on text,
  result text,
  usage text,
  error text,
  end_state text,
  artifact_count integer not null default 0,
  last_heartbeat_at timestamptz(3),
  finished_at timestamptz(3)
) with (fillfactor = 80);
create index tasks_by_tenant on tasks (tenant, task_key);
create index tasks_by_principal on tasks (tenant, created_by, task_key);
create index tasks_by_end on tasks (tenant, end_state, task_key) where end_state is not null;
create index tasks_live on tasks (tenant, task_key) where finished_at is null;
create index tasks_due on tasks (deadline_at) where finished_at is null;

create table task_heads (
  task_key uuid not null constraint task_heads_pk primary key,
  state text not null,
  wait_id text,
  wait_until timestamptz(3),
  run_no integer not null default 0,
  run_open boolean not null default false,
  runtime_id text,
  run_pos integer not null default 0,
  lost_runs smallint not null default 0,
  last_seq integer not null,
  last_at timestamptz(3) not null,
  progress_at timestamptz(3) not null,
  started_at timestamptz(3),
  lease_until timestamptz(3),
  cancel_at timestamptz(3),
  stalled boolean not null default false
) with (fillfactor = 50);
create index task_heads_open on task_heads (task_key) where run_open;
`;

const EVENTS = `
create table events (
  task_key uuid not null,
  seq integer not null,
  event_id uuid not null,
  event_type text not null,
  at timestamptz(3) not null,
  payload text not null,
  constraint events_pk primary key (task_key, seq)
) partition by range (task_key);
create unique index events_one_end on events (task_key)
  where event_type in ('task.succeeded', 'task.failed', 'task.cancelled');

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% refuses %: it is append-only', tg_table_name, lower(tg_op) using errcode = 'insufficient_privilege';
end $$;

create trigger events_append_only before update or delete on events
  for each row execute function refuse_change();
`;

/** Day partitions by the time part of the UUIDv7 task key; made apart and attached, each with its own truncate trigger. */
const PARTITIONS = `
create function partition_bound(at timestamptz) returns uuid language sql immutable as $$
  select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
$$;

create function ensure_partitions(days_back integer, days_ahead integer) returns integer
  language plpgsql security definer set search_path from current as $$
declare
  day date;
  part text;
  made integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('switchyard.partitions'));
  for day in
    select d::date from generate_series(
      (clock_timestamp() at time zone 'UTC')::date - days_back,
      (clock_timestamp() at time zone 'UTC')::date + days_ahead, interval '1 day') d
  loop
    part := 'events_' || to_char(day, 'YYYYMMDD');
    continue when to_regclass(part) is not null;
    execute format('create table %I (like events including defaults including constraints)', part);
    execute format(
      'create trigger refuse_truncate before truncate on %I for each statement execute function refuse_change()', part);
    execute format('alter table events attach partition %I for values from (%L) to (%L)', part,
      partition_bound(day::timestamp at time zone 'UTC'), partition_bound((day + 1)::timestamp at time zone 'UTC'));
    made := made + 1;
  end loop;
  return made;
end $$;

select ensure_partitions(1, 30);
`;

const PROJECTIONS = `
create table steps (
  task_key uuid not null,
  step_id text not null,
  first_seq integer not null,
  name text not null,
  state text not null,
  attempt integer not null,
  error text,
  started_at timestamptz(3) not null,
  finished_at timestamptz(3),
  constraint steps_pk primary key (task_key, step_id)
) with (fillfactor = 70);

create table artifacts (
  artifact_id text not null constraint artifacts_pk primary key,
  task_key uuid not null,
  tenant text not null,
  step_id text,
  kind text not null,
  name text not null,
  media_type text not null,
  size bigint not null,
  sha256 text not null,
  origin text,
  created_at timestamptz(3) not null
);
create index artifacts_by_task on artifacts (task_key, artifact_id);

create table confirmations (
  task_key uuid not null,
  wait_id text not null,
  tool_call_id text not null,
  kind text not null,
  tool_name text,
  arguments text,
  prompt text,
  digest text not null,
  expires_at timestamptz(3) not null,
  state text not null,
  decision text,
  decided_by text,
  decided_at timestamptz(3),
  constraint confirmations_pk primary key (task_key, wait_id, tool_call_id)
);
create index confirmations_due on confirmations (expires_at) where state = 'pending';

create table checkpoints (
  task_key uuid not null constraint checkpoints_pk primary key,
  run_no integer not null,
  data text,
  answer text,
  updated_at timestamptz(3) not null
);
`;
