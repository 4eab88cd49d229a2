import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Artifacts without a task (uploads), saved workspaces, and the marks of blobs that are to go. */
export class Artifacts1764500000010 implements MigrationInterface {
  name = 'Artifacts1764500000010';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [UPLOADS, WORKSPACES, REMOVALS]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop table workspaces;
      drop trigger artifacts_mark_blobs on artifacts;
      drop function mark_blobs();
      drop table blob_removals;
      delete from artifacts where task_key is null;
      drop index artifacts_by_blob, artifacts_uploads;
      alter table artifacts drop column created_by, alter column task_key set not null;`);
  }
}

/** An artifact belongs to its task, or to the principal that uploaded it. */
const UPLOADS = `
alter table artifacts alter column task_key drop not null, add column created_by text,
  add constraint artifacts_owner check ((task_key is null) = (created_by is not null));
create index artifacts_uploads on artifacts (tenant, created_by, artifact_id) where task_key is null;
create index artifacts_by_blob on artifacts (tenant, sha256);
`;

const WORKSPACES = `
create table workspaces (
  task_key uuid not null constraint workspaces_pk primary key,
  tenant text not null,
  sha256 text not null,
  size bigint not null,
  run_no integer not null,
  updated_at timestamptz(3) not null
);
create index workspaces_by_blob on workspaces (tenant, sha256);
grant select, insert, update, delete on workspaces to switchyard_app;
`;

/**
 * Whatever stops naming a blob marks it in the same transaction. Whether something else still names it is asked when the
 * mark is due, not here: of two transactions that let go of the last two names at once, neither would see the other.
 */
const REMOVALS = `
create table blob_removals (
  tenant text not null,
  sha256 text not null,
  marked_at timestamptz(3) not null,
  due_at timestamptz(3) not null,
  constraint blob_removals_pk primary key (tenant, sha256)
);
create index blob_removals_due on blob_removals (due_at);
grant select, insert, update, delete on blob_removals to switchyard_app;

create function mark_blobs() returns trigger language plpgsql set search_path from current as $$
begin
  insert into blob_removals (tenant, sha256, marked_at, due_at)
  select distinct tenant, sha256, clock_timestamp(), clock_timestamp() + interval '15 minutes'
  from gone order by tenant, sha256
  on conflict (tenant, sha256) do update set marked_at = excluded.marked_at, due_at = excluded.due_at;
  return null;
end $$;

create trigger artifacts_mark_blobs after delete on artifacts
  referencing old table as gone for each statement execute function mark_blobs();
create trigger workspaces_mark_replaced after update on workspaces
  referencing old table as gone for each statement execute function mark_blobs();
create trigger workspaces_mark_deleted after delete on workspaces
  referencing old table as gone for each statement execute function mark_blobs();
`;
