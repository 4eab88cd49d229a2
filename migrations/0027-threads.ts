import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Conversations whose callers name them and their runs. */
export class Threads1764500000027 implements MigrationInterface {
  name = 'Threads1764500000027';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [THREADS, PRUNING]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop trigger tasks_forget_threads on tasks;
      drop function forget_threads();
      drop table thread_runs, threads;`);
  }
}

/**
 * A run is written before its task is: `task_id` is made for it, and names nothing until the task is there. Locking the row
 * of a thread puts its runs in line.
 */
const THREADS = `
create table threads (
  tenant text not null,
  thread_id text not null,
  principal text not null,
  updated_at timestamptz(3) not null,
  constraint threads_pk primary key (tenant, thread_id)
);

create table thread_runs (
  tenant text not null,
  thread_id text not null,
  run_id text not null,
  ordinal integer not null,
  task_id text not null,
  first_seq integer not null,
  wait_id text,
  request_hash bytea not null,
  answers_hash bytea,
  wire_version text,
  message_ids text[] not null,
  created_at timestamptz(3) not null,
  constraint thread_runs_pk primary key (tenant, thread_id, run_id)
);
create unique index thread_runs_in_order on thread_runs (tenant, thread_id, ordinal);
create index thread_runs_by_task on thread_runs (tenant, task_id);
grant select, insert, update, delete on threads, thread_runs to switchyard_app;
`;

/** What is removed of tasks takes their runs along, and the last run its thread. */
const PRUNING = `
create function forget_threads() returns trigger language plpgsql set search_path from current as $$
begin
  with gone as (
    delete from thread_runs r using removed t where r.tenant = t.tenant and r.task_id = t.task_id
    returning r.tenant, r.thread_id, r.run_id
  )
  delete from threads t using (select distinct tenant, thread_id from gone) g
  where t.tenant = g.tenant and t.thread_id = g.thread_id and not exists (
    select from thread_runs r where r.tenant = t.tenant and r.thread_id = t.thread_id
      and not exists (select from gone o where o.tenant = r.tenant and o.thread_id = r.thread_id and o.run_id = r.run_id));
  return null;
end $$;
create trigger tasks_forget_threads after delete on tasks referencing old table as removed
  for each statement execute function forget_threads();
`;
