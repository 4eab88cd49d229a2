import { type BlobRemoval, BlobRemovals } from '#lib/domain';
import type { Database, Statement } from '../database.js';

/** Marks of blobs that are to go, in Postgres; see migration 0010 for who makes them. */
export class PgBlobRemovals extends BlobRemovals {
  constructor(private readonly database: Database) {
    super();
  }

  override async due(limit: number): Promise<readonly BlobRemoval[]> {
    const rows = await this.database.query<RemovalRow>(DUE, [limit]);
    return rows.map((row) => ({ tenant: row.tenant, sha256: row.sha256, markedAtMs: row.marked_at_ms }));
  }

  override async settle({ tenant, sha256, markedAtMs }: BlobRemoval): Promise<void> {
    await this.database.query(SETTLE, [tenant, sha256, new Date(markedAtMs).toISOString()]);
  }
}

interface RemovalRow {
  readonly tenant: string;
  readonly sha256: string;
  readonly marked_at_ms: number;
}

const DUE: Statement = {
  name: 'blob-removals.due',
  text: `
with due as (
  select r.tenant, r.sha256, exists (select from artifacts a where a.tenant = r.tenant and a.sha256 = r.sha256)
    or exists (select from workspaces w where w.tenant = r.tenant and w.sha256 = r.sha256) as is_named
  from blob_removals r where r.due_at <= clock_timestamp() order by r.due_at limit $1 for update skip locked
),
kept as (
  delete from blob_removals r using due d where r.tenant = d.tenant and r.sha256 = d.sha256 and d.is_named
)
update blob_removals r set due_at = clock_timestamp() + interval '5 minutes'
from due d where r.tenant = d.tenant and r.sha256 = d.sha256 and not d.is_named
returning r.tenant, r.sha256, (extract(epoch from r.marked_at) * 1000)::float8 as marked_at_ms`,
};

const SETTLE: Statement = {
  name: 'blob-removals.settle',
  text: 'delete from blob_removals where tenant = $1 and sha256 = $2 and marked_at = $3::timestamptz',
};
