import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tasks that wait to be released, files that are given to a task, and how many of its steps a client was handed. */
export class HeldTasks1764500000025 implements MigrationInterface {
  name = 'HeldTasks1764500000025';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop index task_heads_held;
      alter table task_heads drop column held_until;
      alter table tasks drop column step_cursor;
      alter table artifacts drop column relative_path;`);
  }
}

/** The guard of a release reads nothing but the head. The column changes once in a life, so appends stay heap-only. */
const UP = `
alter table task_heads add column held_until timestamptz(3);
create index task_heads_held on task_heads (held_until) where held_until is not null;
alter table tasks add column step_cursor integer not null default 0;
alter table artifacts add column relative_path text;
`;
