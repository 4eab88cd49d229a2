import { Retention } from '#lib/domain';
import type { Database, Statement } from '../database.js';

const PRUNE: Statement = { name: 'retention.prune', text: 'select prune($1::int) as removed' };

/** The removal of what is past its time, in Postgres; see migration 0011 for what goes and what stays. */
export class PgRetention extends Retention {
  constructor(private readonly database: Database) {
    super();
  }

  override async prune(maxRows: number): Promise<number> {
    const [row] = await this.database.query<{ removed: number }>(PRUNE, [maxRows]);
    return row?.removed ?? 0;
  }
}
