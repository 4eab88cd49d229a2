import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a task waits for is shown in the order it was asked. */
export class Answers1764500000005 implements MigrationInterface {
  name = 'Answers1764500000005';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table confirmations add column position integer not null default 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table confirmations drop column position');
  }
}
