import { type AuditEntry, Retention } from '#lib/domain';
import type { Database, Statement } from '../database.js';
import { auditValues, insertAuditValues } from './audit.columns.js';

/** The details that are given, and how much it was. */
const ADDED = `($9::jsonb || jsonb_build_object('removed', removed))::text`;

/** What was removed, and that it was, in one transaction. */
const PRUNE: Statement = {
  name: 'retention.prune',
  text: `
with done as materialized (select prune($1::int) as removed),
audited as (
  ${insertAuditValues(2, 'done where removed > 0', { details: ADDED })}
)
select removed from done`,
};

const PRUNE_AUDIT: Statement = {
  name: 'retention.prune-audit',
  text: `
with done as materialized (select * from prune_audit($1::int)),
audited as (
  ${insertAuditValues(2, 'done where records + leaves + heads > 0', { details: '($9::jsonb || to_jsonb(done))::text' })}
)
select records + leaves + heads as removed from done`,
};

/**
 * Nobody can ask for the answer to a call again once its task has ended, and unlike the log it holds what a tool gave word
 * for word. Only the rows of tasks that go on stay, so that this looks at few.
 */
const FORGET_CALLS: Statement = {
  name: 'retention.forget-calls',
  text: `
with due as (
  select c.task_key, c.tool_call_id from token_calls c join tasks t using (task_key)
  where t.finished_at is not null limit $1 for update of c skip locked
),
gone as (
  delete from token_calls c using due d where c.task_key = d.task_key and c.tool_call_id = d.tool_call_id returning 1
)
select count(*)::int as removed from gone`,
};

/** Nobody asks for it: it is due. */
const DEED: AuditEntry = {
  tenant: '*',
  principal: 'system',
  keyId: '',
  action: 'retention.prune',
  target: '*',
  outcome: 'allowed',
  details: '{}',
  requestId: '',
};

/** The removal of what is past its time, in Postgres; see migrations 0011 and 0023 for what goes and what stays. */
export class PgRetention extends Retention {
  constructor(private readonly database: Database) {
    super();
  }

  override async prune(maxRows: number): Promise<number> {
    const [row] = await this.database.query<{ removed: number }>(PRUNE, [maxRows, ...auditValues(DEED)]);
    return row?.removed ?? 0;
  }

  override async forgetCalls(maxRows: number): Promise<number> {
    const [row] = await this.database.query<{ removed: number }>(FORGET_CALLS, [maxRows]);
    return row?.removed ?? 0;
  }

  override async pruneAudit(maxRows: number): Promise<number> {
    const values = auditValues({ ...DEED, action: 'audit.prune' });
    const [row] = await this.database.query<{ removed: number }>(PRUNE_AUDIT, [maxRows, ...values]);
    return row?.removed ?? 0;
  }
}
