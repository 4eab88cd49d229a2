import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Keys that are rotated, labelled and listed, and when each was last used. */
export class Callers1764500000012 implements MigrationInterface {
  name = 'Callers1764500000012';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop index api_keys_by_tenant;
      alter table api_keys drop column retiring, drop column label, drop column rotated_at, drop column last_used_at;`);
  }
}

/** `retiring` is a list of `{hash, until}`: SHA-256 in hex, and ms since the epoch. */
const UP = `
alter table api_keys
  add column retiring jsonb not null default '[]',
  add column label text,
  add column rotated_at timestamptz(3),
  add column last_used_at timestamptz(3);
create index api_keys_by_tenant on api_keys (tenant, created_at, id);
`;
