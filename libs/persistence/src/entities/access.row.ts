import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

@Entity('api_keys')
@Index('api_keys_by_tenant', ['tenant', 'createdAt', 'id'])
export class ApiKeyRow {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'api_keys_pk' }) id!: string;
  @Column('bytea', { name: 'secret_hash' }) secretHash!: Buffer;
  @Column('text') tenant!: string;
  @Column('text') principal!: string;
  @Column('text', { array: true }) scopes!: string[];
  @Column({ type: 'timestamptz', precision: 3, name: 'created_at' }) createdAt!: Date;
  @Column({ type: 'timestamptz', precision: 3, name: 'expires_at', nullable: true }) expiresAt!: Date | null;
  @Column({ type: 'timestamptz', precision: 3, name: 'revoked_at', nullable: true }) revokedAt!: Date | null;
  @Column('jsonb', { default: [] }) retiring!: { hash: string; until: number }[];
  @Column('text', { nullable: true }) label!: string | null;
  @Column({ type: 'timestamptz', precision: 3, name: 'rotated_at', nullable: true }) rotatedAt!: Date | null;
  @Column({ type: 'timestamptz', precision: 3, name: 'last_used_at', nullable: true }) lastUsedAt!: Date | null;
}

@Entity('secrets')
export class SecretRow {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'secrets_pk' }) name!: string;
  @Column('bytea') value!: Buffer;
  @Column({ type: 'timestamptz', precision: 3, name: 'created_at' }) createdAt!: Date;
}
