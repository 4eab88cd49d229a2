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

  override async pruneAudit(maxRows: number): Promise<number> {
    const values = auditValues({ ...DEED, action: 'audit.prune' });
    const [row] = await this.database.query<{ removed: number }>(PRUNE_AUDIT, [maxRows, ...values]);
    return row?.removed ?? 0;
  }
}
