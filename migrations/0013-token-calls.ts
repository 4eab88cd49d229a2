import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tool calls made with a task token: each id is made once and its answer kept, whichever gateway it comes to. */
export class TokenCalls1764500000013 implements MigrationInterface {
  name = 'TokenCalls1764500000013';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table token_calls');
  }
}

/** `owner`: who is making it, until `held_until`. `announced`: `tool.invoked` is stored. `answer`: JSON text of what came of it. */
const UP = `
create table token_calls (
  task_key uuid not null,
  tool_call_id text not null,
  run_no integer not null,
  tool_name text not null,
  digest text not null,
  owner uuid not null,
  held_until timestamptz(3) not null,
  announced boolean not null default false,
  answer text,
  constraint token_calls_pk primary key (task_key, tool_call_id)
) with (fillfactor = 70);
grant select, insert, update, delete on token_calls to switchyard_app;
`;
