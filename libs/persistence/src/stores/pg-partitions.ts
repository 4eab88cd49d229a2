import type { Database, Statement } from '../database.js';

const ENSURE: Statement = { name: 'partitions.ensure', text: 'select ensure_partitions(1, 7) as made' };

/** Keeps a week of day partitions ahead, as any process may; `migrate` makes thirty. */
export class PgPartitions {
  constructor(private readonly database: Database) {}

  /** How many were made now. */
  async ensure(): Promise<number> {
    const [row] = await this.database.query<{ made: number }>(ENSURE, []);
    return row?.made ?? 0;
  }
}
