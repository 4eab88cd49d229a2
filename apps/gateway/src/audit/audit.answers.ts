import { ApiProperty } from '@nestjs/swagger';

/** An audit record. */
export class AuditRecordAnswer {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'date-time', description: 'To the microsecond.' }) at!: string;
  @ApiProperty() tenant!: string;
  @ApiProperty() principal!: string;
  @ApiProperty() key_id!: string;
  @ApiProperty() action!: string;
  @ApiProperty() target!: string;
  @ApiProperty({ enum: ['allowed', 'denied'] }) outcome!: string;
  @ApiProperty({ type: 'object', additionalProperties: true }) details!: unknown;
  @ApiProperty() request_id!: string;
  @ApiProperty({ type: 'integer', nullable: true, description: 'Its place in the tree; null: not sealed yet.' })
  leaf!: number | null;
}

export class AuditRecordsAnswer {
  @ApiProperty({ type: [AuditRecordAnswer] }) records!: AuditRecordAnswer[];
  @ApiProperty({ type: 'string', nullable: true }) next_cursor!: string | null;
}

/** What the tree was at some moment. */
export class AuditHeadAnswer {
  @ApiProperty({ type: 'integer' }) no!: number;
  @ApiProperty({ format: 'uuid' }) log!: string;
  @ApiProperty({ type: 'integer' }) size!: number;
  @ApiProperty({ description: 'In hex.' }) root!: string;
  @ApiProperty() system!: string;
  @ApiProperty() mark!: string;
  @ApiProperty({ format: 'date-time' }) at!: string;
  @ApiProperty({ type: 'string', nullable: true }) kid!: string | null;
  @ApiProperty({ type: 'string', nullable: true, description: 'Ed25519, in base64.' }) signature!: string | null;
}

export class AuditHeadsAnswer {
  @ApiProperty({ type: [AuditHeadAnswer] }) heads!: AuditHeadAnswer[];
}

export class AuditProofAnswer {
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Every column as it is hashed.',
  })
  record!: object;
  @ApiProperty({ type: 'integer' }) leaf!: number;
  @ApiProperty({ description: 'In base64.' }) digest!: string;
  @ApiProperty({ description: 'In hex.' }) leaf_hash!: string;
  @ApiProperty({ type: [String], description: 'Hashes from the leaf upwards, in hex: RFC 9162 section 2.1.3.' })
  proof!: string[];
  @ApiProperty() head!: AuditHeadAnswer;
}

export class ConsistencyAnswer {
  @ApiProperty({ type: 'integer' }) first!: number;
  @ApiProperty({ type: 'integer' }) second!: number;
  @ApiProperty({ type: [String], description: 'In hex: RFC 9162 section 2.1.4.' }) proof!: string[];
}

export class AuditKeyAnswer {
  @ApiProperty() kid!: string;
  @ApiProperty({ description: 'SPKI in PEM.' }) public_key!: string;
}

export class AuditKeysAnswer {
  @ApiProperty({ type: [AuditKeyAnswer] }) keys!: AuditKeyAnswer[];
}
