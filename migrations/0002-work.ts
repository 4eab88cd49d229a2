import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The outbox, sessions, agents and their backends. */
export class Work1764500000002 implements MigrationInterface {
  name = 'Work1764500000002';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table outbox, sessions, session_advance, agents, agents_file, backend_versions');
  }
}

const UP = `
create table outbox (
  task_key uuid not null,
  run_no integer not null,
  pool text not null,
  priority smallint not null,
  reason text not null,
  attempt integer not null default 1,
  error text,
  tries integer not null default 0,
  next_check_at timestamptz(3) not null,
  constraint outbox_pk primary key (task_key, run_no)
);
create index outbox_due on outbox (next_check_at);

create table sessions (
  tenant text not null,
  agent_id text not null,
  user_id text not null,
  session_id text not null,
  next_ordinal bigint not null default 1,
  backend_version_id text not null,
  updated_at timestamptz(3) not null,
  constraint sessions_pk primary key (tenant, agent_id, user_id, session_id)
);

create table session_advance (
  task_key uuid not null constraint session_advance_pk primary key,
  tenant text not null,
  agent_id text not null,
  user_id text not null,
  session_id text not null,
  created_at timestamptz(3) not null
);

create table agents (
  id text not null constraint agents_pk primary key,
  declaration text not null,
  version integer not null default 1,
  updated_at timestamptz(3) not null
);

create table agents_file (
  digest text not null constraint agents_file_pk primary key,
  applied_at timestamptz(3) not null
);

create table backend_versions (
  id text not null constraint backend_versions_pk primary key,
  agent_id text not null,
  runner text not null,
  pool text not null,
  options text not null,
  policy text not null,
  created_at timestamptz(3) not null
);
create trigger backend_versions_append_only before update or delete on backend_versions
  for each row execute function refuse_change();
`;
