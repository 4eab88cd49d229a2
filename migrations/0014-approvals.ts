import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An approval is good for one call of a tool, whichever process makes it: the database refuses a second use. */
export class Approvals1764500000014 implements MigrationInterface {
  name = 'Approvals1764500000014';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      alter table confirmations add column used_by text[] not null default '{}'
        constraint confirmations_used_once check (cardinality(used_by) <= 1)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table confirmations drop column used_by');
  }
}
