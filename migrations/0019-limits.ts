import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What gateways tell each other for limits that hold over all of them, and an index that sums the bytes of a tenant alone. */
export class Limits1764500000019 implements MigrationInterface {
  name = 'Limits1764500000019';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop table gateway_usage;
      drop index artifacts_by_blob;
      create index artifacts_by_blob on artifacts (tenant, sha256);`);
  }
}

/** Unlogged: a second old it is worth nothing, so that neither a crash nor a standby needs it. */
const UP = `
create unlogged table gateway_usage (
  gateway_id text not null constraint gateway_usage_pk primary key,
  seen_at timestamptz(3) not null,
  usage text not null
) with (fillfactor = 50);
grant select, insert, update, delete on gateway_usage to switchyard_app;

drop index artifacts_by_blob;
create index artifacts_by_blob on artifacts (tenant, sha256) include (size);
`;
