import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a submission says of tools and of files: all three are null for most tasks. */
export class SubmittedTools1764500000007 implements MigrationInterface {
  name = 'SubmittedTools1764500000007';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'alter table tasks drop column client_tools, drop column allowed_tools, drop column input_artifacts',
    );
  }
}

/**
 * client_tools: JSON text of the tools the caller runs itself. allowed_tools: JSON array of names, null where the caller
 * narrows nothing, so that those of the backend's version hold. input_artifacts: JSON array of the artifacts the input
 * names, as they were when the task was submitted.
 */
const UP = `
alter table tasks add column client_tools text, add column allowed_tools text, add column input_artifacts text;
`;
