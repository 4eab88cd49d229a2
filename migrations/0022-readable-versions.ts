import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A version of a backend that cannot be read would stop every claim and sweep that comes across a task of it. */
export class ReadableVersions1764500000022 implements MigrationInterface {
  name = 'ReadableVersions1764500000022';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table backend_versions drop constraint backend_versions_readable');
  }
}

/** What is no JSON, or holds no number where sweeps reckon with one, is an error of the check itself. */
const UP = `
alter table backend_versions add constraint backend_versions_readable check (
  json_typeof(policy::json) = 'object' and json_typeof(options::json) = 'object'
  and json_typeof(policy::json -> 'tools') = 'array' and (policy::json ->> 'stallSeconds')::float8 >= 0);
`;
