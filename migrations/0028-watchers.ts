import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who waits for a task last, where its surface ends tasks that nobody waits for. */
export class Watchers1764500000028 implements MigrationInterface {
  name = 'Watchers1764500000028';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table tasks add column watcher uuid');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table tasks drop column watcher');
  }
}
