import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The tree over the audit trail: each committed record becomes a leaf, the heads say what the tree was when. Written by
 * the role `switchyard_sealer` and by nobody else; nothing of it can be changed or removed.
 */
export class AuditSeals1764500000018 implements MigrationInterface {
  name = 'AuditSeals1764500000018';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [TABLES, APPEND_ONLY, ROLE]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop table audit_exports, audit_state, audit_keys, audit_heads, audit_nodes, audit_leaf;
      drop index audit_records_by_xid;`);
  }
}

/** Of the nodes those of the levels 8, 16, 24 … are kept: the others are hashed anew from at most 256. */
const TABLES = `
create index audit_records_by_xid on audit_records (xid);

create table audit_leaf (
  leaf_no bigint not null constraint audit_leaf_pk primary key,
  record_id uuid not null constraint audit_leaf_record unique,
  tenant text not null,
  digest bytea not null
);
alter table audit_leaf alter column digest set storage plain;

create table audit_nodes (
  level smallint not null,
  no bigint not null,
  hash bytea not null,
  constraint audit_nodes_pk primary key (level, no)
);

create table audit_heads (
  no bigint generated always as identity constraint audit_heads_pk primary key,
  log uuid not null,
  size bigint not null,
  root bytea not null,
  system text not null,
  mark xid8 not null,
  at timestamptz(6) not null,
  kid text,
  signature bytea
);
create index audit_heads_by_size on audit_heads (size);

create table audit_keys (
  kid text not null constraint audit_keys_pk primary key,
  public_key text not null,
  first_used_at timestamptz(3) not null default clock_timestamp()
);

create table audit_state (
  is_only boolean not null default true constraint audit_state_pk primary key check (is_only),
  log uuid not null default gen_random_uuid(),
  size bigint not null default 0,
  system text not null,
  mark xid8 not null default '0'
);
insert into audit_state (system) select system_identifier::text from pg_control_system();

create table audit_exports (
  sink text not null constraint audit_exports_pk primary key,
  head_no bigint not null,
  at timestamptz(3) not null
);
`;

const APPEND_ONLY = `
do $$ declare relation text; begin
  foreach relation in array array['audit_leaf', 'audit_nodes', 'audit_heads', 'audit_keys'] loop
    execute format('create trigger append_only before update or delete on %I for each row execute function refuse_change()', relation);
    execute format('create trigger refuse_truncate before truncate on %I for each statement execute function refuse_change()', relation);
  end loop;
end $$;
`;

const ROLE = `
do $$ begin
  create role switchyard_sealer nologin;
exception when duplicate_object or unique_violation then null;
end $$;

do $$ begin
  execute format('grant usage on schema %I to switchyard_sealer', current_schema());
end $$;
grant select on audit_records to switchyard_sealer;
grant select, insert on audit_leaf, audit_nodes, audit_heads, audit_keys to switchyard_sealer;
grant select, update on audit_state to switchyard_sealer;
grant select, insert, update on audit_exports to switchyard_sealer;
grant select on audit_leaf, audit_nodes, audit_heads, audit_keys, audit_state to switchyard_app;
`;
