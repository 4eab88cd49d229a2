import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('agents')
export class AgentRow {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'agents_pk' }) id!: string;
  @Column('text') declaration!: string;
  @Column('integer', { default: 1 }) version!: number;
  @Column({ type: 'timestamptz', precision: 3, name: 'updated_at' }) updatedAt!: Date;
}

@Entity('agents_file')
export class AgentsFileRow {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'agents_file_pk' }) digest!: string;
  @Column({ type: 'timestamptz', precision: 3, name: 'applied_at' }) appliedAt!: Date;
}

/** As the migration has it, word for word: only the name is compared. */
const IS_READABLE = `
  json_typeof(policy::json) = 'object' and json_typeof(options::json) = 'object'
  and json_typeof(policy::json -> 'tools') = 'array' and (policy::json ->> 'stallSeconds')::float8 >= 0`;

@Entity('backend_versions')
@Check('backend_versions_readable', IS_READABLE)
export class BackendVersionRow {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'backend_versions_pk' }) id!: string;
  @Column('text', { name: 'agent_id' }) agentId!: string;
  @Column('text') runner!: string;
  @Column('text') pool!: string;
  @Column('text') options!: string;
  @Column('text') policy!: string;
  @Column({ type: 'timestamptz', precision: 3, name: 'created_at' }) createdAt!: Date;
}
