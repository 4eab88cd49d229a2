import { Column, Entity, PrimaryColumn } from 'typeorm';

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

@Entity('backend_versions')
export class BackendVersionRow {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'backend_versions_pk' }) id!: string;
  @Column('text', { name: 'agent_id' }) agentId!: string;
  @Column('text') runner!: string;
  @Column('text') pool!: string;
  @Column('text') options!: string;
  @Column('text') policy!: string;
  @Column({ type: 'timestamptz', precision: 3, name: 'created_at' }) createdAt!: Date;
}
