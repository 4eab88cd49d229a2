import type { Database, Statement } from './database.js';

const NAME: Statement = {
  name: 'installation.name',
  text: `
select left(encode(sha256(convert_to(c.system_identifier || '/' || d.oid, 'UTF8')), 'hex'), 12) as name
from pg_control_system() c, pg_database d where d.datname = current_database()`,
};

/** What an installation is known by where it is not alone: made of which database it has, so that a copy has another. */
export async function installationName(database: Database): Promise<string> {
  const [row] = await database.query<{ readonly name: string }>(NAME, []);
  return row!.name;
}
