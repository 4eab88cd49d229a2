import type { MigrationInterface, QueryRunner } from 'typeorm';

/** API keys, secrets the processes share, and the audit trail. */
export class Trust1764500000003 implements MigrationInterface {
  name = 'Trust1764500000003';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table api_keys, secrets, audit_records');
  }
}

const UP = `
create table api_keys (
  id text not null constraint api_keys_pk primary key,
  secret_hash bytea not null,
  tenant text not null,
  principal text not null,
  scopes text[] not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3),
  revoked_at timestamptz(3)
);

create table secrets (
  name text not null constraint secrets_pk primary key,
  value bytea not null,
  created_at timestamptz(3) not null
);

create table audit_records (
  id uuid not null constraint audit_records_pk primary key,
  at timestamptz(6) not null default clock_timestamp(),
  xid xid8 not null default pg_current_xact_id(),
  tenant text not null,
  principal text not null,
  key_id text not null,
  action text not null,
  target text not null,
  outcome text not null,
  details text not null,
  request_id text not null
);
create index audit_records_by_tenant on audit_records (tenant, id);
create trigger audit_append_only before update or delete on audit_records
  for each row execute function refuse_change();
create trigger audit_refuse_truncate before truncate on audit_records
  for each statement execute function refuse_change();
`;
