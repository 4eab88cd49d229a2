import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whose turn it is in a session, what a session remembers, and the indexes its tasks are found by. */
export class Sessions1764500000008 implements MigrationInterface {
  name = 'Sessions1764500000008';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop table session_conversations;
      drop index tasks_by_session, tasks_in_line, session_advance_due;
      alter table session_advance rename column next_check_at to created_at;
      alter table sessions drop column dispatched, drop column overtaken, drop column overtaken_by;`);
  }
}

/** `dispatched`: the last ordinal whose first run was asked for. Tasks below `overtaken`, the ordinal of `overtaken_by`, are to end. */
const UP = `
alter table sessions
  add column dispatched bigint not null default 0,
  add column overtaken bigint not null default 0,
  add column overtaken_by uuid;
alter table sessions set (fillfactor = 70);

alter table session_advance rename column created_at to next_check_at;
create index session_advance_due on session_advance (next_check_at);

create index tasks_by_session on tasks (tenant, session_id, task_key) where session_id is not null;
create index tasks_in_line on tasks (tenant, agent_id, (coalesce(user_id, created_by)), session_id, ordinal)
  where ordinal is not null and finished_at is null;

create table session_conversations (
  tenant text not null,
  agent_id text not null,
  user_id text not null,
  session_id text not null,
  ordinal bigint not null,
  data text not null,
  updated_at timestamptz(3) not null,
  constraint session_conversations_pk primary key (tenant, agent_id, user_id, session_id)
);
grant select, insert, update, delete on session_conversations to switchyard_app;
`;
