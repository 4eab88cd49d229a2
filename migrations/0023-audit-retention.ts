import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How long audit records are kept, what is said of those that are not any longer, and the one way they are removed. */
export class AuditRetention1764500000023 implements MigrationInterface {
  name = 'AuditRetention1764500000023';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [TERMS, PRUNINGS, TENANTS, COLUMNS, DELETIONS, PRUNE]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop function prune_audit(integer), audit_tenants();
      drop trigger audit_append_only on audit_records;
      create trigger audit_append_only before update or delete on audit_records for each row execute function refuse_change();
      drop trigger append_only on audit_leaf;
      create trigger append_only before update or delete on audit_leaf for each row execute function refuse_change();
      drop trigger append_only on audit_heads;
      create trigger append_only before update or delete on audit_heads for each row execute function refuse_change();
      grant insert on audit_records to switchyard_app;
      drop index audit_heads_by_at;
      drop table audit_prunings, audit_terms;`);
  }
}

/** Days; the row of the empty tenant holds for every tenant without one. Only the owner may write it. */
const TERMS = `
create table audit_terms (
  tenant text not null constraint audit_terms_pk primary key,
  days integer not null check (days between 1 and 36500)
);
insert into audit_terms (tenant, days) values ('', 400);
grant select on audit_terms to switchyard_app, switchyard_sealer;
`;

/** One row for everybody, whose tenant is null, and one for each tenant that keeps its records for less than the longest term. */
const PRUNINGS = `
create table audit_prunings (
  tenant text constraint audit_prunings_tenant unique nulls not distinct,
  log uuid not null,
  size bigint not null,
  root bytea not null,
  sealed_at timestamptz(6) not null,
  days integer not null,
  at timestamptz(6) not null,
  kid text,
  signature bytea
);
grant select, insert, update on audit_prunings to switchyard_sealer;
grant select on audit_prunings to switchyard_app;
create index audit_heads_by_at on audit_heads (at);
`;

/** Tenants with records, found in as many steps as there are, and their terms. */
const TENANTS = `
create function audit_tenants() returns table (tenant text, days integer) language sql stable set search_path from current as $$
  with recursive tenants (tenant) as (
    (select r.tenant from audit_records r order by r.tenant limit 1)
    union all
    select (select r.tenant from audit_records r where r.tenant > t.tenant order by r.tenant limit 1)
    from tenants t where t.tenant is not null
  )
  select t.tenant, coalesce(own.days, d.days)
  from tenants t left join audit_terms own on own.tenant = t.tenant and own.tenant <> '' join audit_terms d on d.tenant = ''
  where t.tenant is not null
$$;
`;

/** When a record was written, and in which transaction, is for the database to say. */
const COLUMNS = `
revoke insert on audit_records from switchyard_app;
grant insert (id, tenant, principal, key_id, action, target, outcome, details, request_id) on audit_records to switchyard_app;
`;

/** As with events: their owner removes them while it prunes, and nobody else. */
const DELETIONS = `
drop trigger audit_append_only on audit_records;
create trigger audit_append_only before update or delete on audit_records
  for each row execute function refuse_event_change();
drop trigger append_only on audit_leaf;
create trigger append_only before update or delete on audit_leaf for each row execute function refuse_event_change();
drop trigger append_only on audit_heads;
create trigger append_only before update or delete on audit_heads for each row execute function refuse_event_change();
`;

/**
 * One bounded step: records that are past their time and were named an hour ago, so that an export that has begun knows of
 * them; then leaves, in whole subtrees of 256, whose hash is kept, once none has a record any longer; then heads of trees
 * that are gone. max_rows is 256 at least.
 */
const PRUNE = `
create function prune_audit(max_rows integer) returns table (records integer, leaves integer, heads integer)
  language plpgsql security definer set search_path from current as $$
declare
  since timestamptz := clock_timestamp() - interval '1 hour';
  longest integer := (select max(days) from audit_terms);
  gone bigint := coalesce((select size from audit_prunings where tenant is null and at < since), 0);
  fence bigint;
begin
  records := 0;
  leaves := 0;
  heads := 0;
  if not pg_try_advisory_xact_lock(hashtext('switchyard.prune_audit')) then
    return next;
    return;
  end if;
  perform set_config('switchyard.pruning', 'on', true);

  with named as (
    select t.tenant, greatest(gone, p.size) as size, clock_timestamp() - make_interval(days => t.days) as before
    from audit_tenants() t left join audit_prunings p on p.tenant = t.tenant and p.at < since
  ),
  due as (
    select d.id from named n cross join lateral (
      select r.id from audit_records r join audit_leaf l on l.record_id = r.id
      where r.tenant = n.tenant and r.id < partition_bound(n.before + interval '1 hour') and r.at < n.before and l.leaf_no < n.size
      order by r.id limit max_rows
    ) d limit max_rows
  )
  delete from audit_records r where r.id in (select id from due);
  get diagnostics records = row_count;

  if records = 0 then
    -- The first leaf that stays: that of a record, or behind all that were looked at.
    select coalesce(min(l.leaf_no) filter (where l.has_record), max(l.leaf_no) + 1) into fence from (
      select leaf_no, exists (select from audit_records r where r.id = record_id) as has_record
      from audit_leaf where leaf_no < gone order by leaf_no limit max_rows
    ) l;
    delete from audit_leaf where leaf_no < fence / 256 * 256;
    get diagnostics leaves = row_count;
  end if;

  if records = 0 and leaves = 0 then
    delete from audit_heads where no in (
      select h.no from audit_heads h
      where h.size < gone and h.at < clock_timestamp() - make_interval(days => longest) order by h.size limit max_rows);
    get diagnostics heads = row_count;
  end if;

  perform set_config('switchyard.pruning', 'off', true);
  return next;
end $$;
revoke execute on function prune_audit(integer) from public;
grant execute on function prune_audit(integer) to switchyard_app;
`;
