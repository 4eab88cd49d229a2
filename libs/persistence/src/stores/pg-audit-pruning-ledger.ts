import { type AuditPruning, AuditPruningLedger, type DuePruning, type TreeSource } from '#lib/domain';
import type { Database, Statement } from '../database.js';
import { decodeHead, HEAD_COLUMNS, type HeadRow, timeText, treeOver } from './audit.rows.js';

/** What is said of pruned audit records in Postgres, over connections of the role that may write it. */
export class PgAuditPruningLedger extends AuditPruningLedger {
  override readonly tree: TreeSource;

  constructor(private readonly database: Database) {
    super();
    this.tree = treeOver((statement, values) => database.query(statement, values));
  }

  override async due(kids?: readonly string[]): Promise<readonly DuePruning[]> {
    const rows = await this.database.query<DueRow>(DUE, [kids ?? null]);
    return rows.map((row) => ({ tenant: row.whose, days: row.days, head: decodeHead(row), at: row.now }));
  }

  override async declare(pruning: AuditPruning): Promise<void> {
    const { log, tenant, size, root, sealedAt, days, at, kid, signature } = pruning;
    await this.database.query(DECLARE, [log, tenant, size, root, sealedAt, days, at, kid, signature]);
  }
}

type DueRow = HeadRow & { readonly whose: string | null; readonly days: number; readonly now: string };

/** Everybody's by the longest term there is, and those of each tenant that has a shorter one; see migration 0023. */
const DUE: Statement = {
  name: 'audit-pruning.due',
  text: `
with longest as (select max(days) as days from audit_terms),
scopes (whose, days) as (
  select null, days from longest
  union all
  select t.tenant, t.days from audit_tenants() t, longest where t.days < longest.days
)
select s.whose, s.days, ${timeText('clock_timestamp()')} as now, ${HEAD_COLUMNS}
from scopes s
  left join audit_prunings p on p.tenant is not distinct from s.whose
  left join audit_prunings a on a.tenant is null
  cross join lateral (
    select * from audit_heads
    where at < clock_timestamp() - make_interval(days => s.days) and ($1::text[] is null or kid = any ($1))
    order by at desc limit 1
  ) h
where (p.at is null or p.at < clock_timestamp() - interval '1 day') and h.size > coalesce(greatest(p.size, a.size), 0)
order by s.whose nulls first`,
};

const DECLARE: Statement = {
  name: 'audit-pruning.declare',
  text: `
insert into audit_prunings as p (log, tenant, size, root, sealed_at, days, at, kid, signature)
values ($1, $2, $3, decode($4, 'hex'), $5, $6, $7, $8, decode($9, 'base64'))
on conflict (tenant) do update set log = excluded.log, size = excluded.size, root = excluded.root, sealed_at = excluded.sealed_at,
  days = excluded.days, at = excluded.at, kid = excluded.kid, signature = excluded.signature where p.size < excluded.size`,
};
