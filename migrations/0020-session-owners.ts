import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A session is its first task's principal's: who does not reach the tasks of others cannot join theirs. */
export class SessionOwners1764500000020 implements MigrationInterface {
  name = 'SessionOwners1764500000020';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table sessions drop column created_by');
  }
}

/** Of a session whose tasks are all gone nothing is left that could be anybody's: the next one has it. */
const UP = `
alter table sessions add column created_by text;
update sessions s set created_by = (
  select t.created_by from tasks t where t.tenant = s.tenant and t.agent_id = s.agent_id
    and coalesce(t.user_id, t.created_by) = s.user_id and t.session_id = s.session_id and t.ordinal is not null
  order by t.ordinal limit 1);
`;
