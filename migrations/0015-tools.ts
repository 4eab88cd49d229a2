import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tools and MCP servers as they are declared, and what is known of the tools these servers offer. */
export class Tools1764500000015 implements MigrationInterface {
  name = 'Tools1764500000015';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table tool_offers, tools; drop sequence tool_versions;');
  }
}

/**
 * Declarations are kept as they are written. Of an offered tool both what its server lists now and what was accepted are
 * kept, whole: what is called is what somebody has seen. The agents file is applied again, since it may name tools.
 */
const UP = `
create sequence tool_versions as integer;
grant usage on sequence tool_versions to switchyard_app;

create table tools (
  id text not null constraint tools_pk primary key,
  declaration text not null,
  origin text not null check (origin in ('file', 'api')),
  version integer not null,
  updated_at timestamptz(3) not null
);

create table tool_offers (
  name text not null constraint tool_offers_pk primary key,
  server_id text not null,
  is_listed boolean not null,
  offered text not null,
  offered_digest text not null,
  accepted text,
  accepted_digest text,
  version integer not null,
  seen_at timestamptz(3) not null
);
create index tool_offers_by_server on tool_offers (server_id);
grant select, insert, update, delete on tools, tool_offers to switchyard_app;

delete from agents_file;
`;
