import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Versions of agents come from one sequence. Declarations are kept as they are written, not as they are read: what was
 * stored before is written again by the next gateway that starts, from its file.
 */
export class Agents1764500000011 implements MigrationInterface {
  name = 'Agents1764500000011';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop sequence agent_versions');
  }
}

const UP = `
create sequence agent_versions as integer;
grant usage on sequence agent_versions to switchyard_app;
select setval('agent_versions', max(version)) from agents having max(version) is not null;
delete from agents_file;
`;
