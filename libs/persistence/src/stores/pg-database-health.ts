import { type DatabaseFault, DatabaseHealth } from '#lib/domain';
import { MIGRATIONS } from '../../../../migrations/index.js';
import type { Database, Statement } from '../database.js';

/** Whether this version can serve from the database as it is. */
export class PgDatabaseHealth extends DatabaseHealth {
  constructor(private readonly database: Database) {
    super();
  }

  override async faults(): Promise<readonly DatabaseFault[]> {
    const [row] = await this.database.query<{ newest: string | null; tomorrow: boolean }>(HEALTH, []);
    const faults: DatabaseFault[] = [];
    if (row?.newest !== MIGRATIONS.at(-1)?.name) faults.push('migrations');
    if (!row?.tomorrow) faults.push('partitions');
    return faults;
  }
}

const HEALTH: Statement = {
  name: 'database-health',
  text: `
select (select name from migrations order by timestamp desc limit 1) as newest,
  to_regclass('events_' || to_char((clock_timestamp() at time zone 'UTC')::date + 1, 'YYYYMMDD')) is not null as tomorrow`,
};
