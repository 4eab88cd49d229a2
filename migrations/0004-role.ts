import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What the processes may do. They take the role `switchyard_app`, which can neither change nor remove an event or an
 * audit record, nor touch partitions; the owner of the schema keeps those rights for `migrate`.
 */
export class Role1764500000004 implements MigrationInterface {
  name = 'Role1764500000004';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop owned by switchyard_app');
  }
}

const UP = `
do $$ begin
  create role switchyard_app nologin;
exception when duplicate_object or unique_violation then null;
end $$;

do $$ begin
  execute format('grant usage on schema %I to switchyard_app', current_schema());
  execute format('grant select, insert, update, delete on all tables in schema %I to switchyard_app', current_schema());
end $$;
revoke update, delete on events, audit_records, backend_versions from switchyard_app;
grant execute on function ensure_partitions(integer, integer) to switchyard_app;
revoke execute on function ensure_partitions(integer, integer) from public;

do $$ declare part regclass; begin
  for part in select inhrelid::regclass from pg_inherits where inhparent = 'events'::regclass loop
    execute format('revoke update, delete on %s from switchyard_app', part);
  end loop;
end $$;
`;
