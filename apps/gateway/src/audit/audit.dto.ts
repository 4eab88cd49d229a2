import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';
import { PageCursor, PageLimit, type PageQuery } from '../http/page.query.js';
import { MaybeTime } from '../http/times.js';

const MAX_NUMBER = Number.MAX_SAFE_INTEGER;

/** Which records are meant. */
export class AuditFilterQuery {
  @ApiPropertyOptional({ description: 'Another than one’s own, or `*` for all, needs `platform:admin`.' })
  @IsOptional()
  @IsString()
  @MaxLength(200)
  tenant?: string;

  @ApiPropertyOptional()
  @IsOptional()
  @IsString()
  @MaxLength(200)
  principal?: string;

  @ApiPropertyOptional({ description: 'The id of a key.' })
  @IsOptional()
  @IsString()
  @MaxLength(200)
  key_id?: string;

  @ApiPropertyOptional({ example: 'task.submit' })
  @IsOptional()
  @IsString()
  @MaxLength(200)
  action?: string;

  @ApiPropertyOptional({ description: 'What was acted on: the id of a task, for example.' })
  @IsOptional()
  @IsString()
  @MaxLength(1_000)
  target?: string;

  @ApiPropertyOptional({ enum: ['allowed', 'denied'] })
  @IsOptional()
  @IsIn(['allowed', 'denied'])
  outcome?: 'allowed' | 'denied';

  @MaybeTime('Exclusive.')
  after?: string;

  @MaybeTime('Exclusive.')
  before?: string;
}

/** Query of `GET /v1/audit`. */
export class SearchAuditQuery extends AuditFilterQuery implements PageQuery {
  @PageLimit()
  limit?: number;

  @PageCursor()
  cursor?: string;
}

/** Query of `GET /v1/audit/export`. */
export class ExportAuditQuery extends AuditFilterQuery {
  @ApiPropertyOptional({
    description: '`jsonl` can be verified offline; `csv` is for reading.',
    enum: ['jsonl', 'csv'],
    default: 'jsonl',
  })
  @IsOptional()
  @IsIn(['jsonl', 'csv'])
  format?: 'jsonl' | 'csv';
}

/** Query of `GET /v1/audit/{id}/proof`. */
export class ProveAuditQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, description: 'The size of a head, to prove it by that one.' })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_NUMBER)
  size?: number;
}

/** Query of `GET /v1/audit/heads`. */
export class HeadsQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 0, default: 0, description: 'Exclusive: the `no` of a head.' })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MAX_NUMBER)
  after?: number;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 500, default: 100 })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(500)
  limit?: number;
}

/** Query of `GET /v1/audit/consistency`. */
export class ConsistencyQuery {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'The size of the older tree.' })
  @IsInt()
  @Min(1)
  @Max(MAX_NUMBER)
  first!: number;

  @ApiProperty({ type: 'integer', minimum: 1, description: 'The size of the younger tree.' })
  @IsInt()
  @Min(1)
  @Max(MAX_NUMBER)
  second!: number;
}
