import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The attempt a run is, which its loss must not forget, and failed tasks by the code they failed with. */
export class Life1764500000009 implements MigrationInterface {
  name = 'Life1764500000009';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      alter table task_heads add column attempt smallint not null default 1;
      alter table tasks add column error_code text;
      create index tasks_by_error on tasks (tenant, error_code, task_key) where error_code is not null;`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'drop index tasks_by_error; alter table tasks drop column error_code; alter table task_heads drop column attempt',
    );
  }
}
