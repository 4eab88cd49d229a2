import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsDefined,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
} from 'class-validator';
import { SCOPES } from '#lib/domain';
import type { Scope } from '#lib/domain';
import { ListAnswer } from './answer.dto.js';
import { PageQuery } from '../http/page.query.js';
import { MaybeTime } from '../http/times.js';

/** 1 to 200 characters, none of them a control character or half of a pair. */
const NAME = /^[^\p{Cc}\p{Cs}]{1,200}$/u;
/** The name of all tenants is that of none. */
const TENANT = /^(?!\*$)[^\p{Cc}\p{Cs}]{1,200}$/u;

const DAY_SECONDS = 86_400;
/** How long an earlier secret works when nothing else is said, in s. */
export const DEFAULT_OVERLAP_SECONDS = DAY_SECONDS;

/** Query of `GET /v1/keys`. */
export class ListKeysQuery extends PageQuery {
  @ApiPropertyOptional({ description: 'Another than yours needs `platform:admin`.' })
  @IsOptional()
  @IsString()
  @Matches(NAME)
  tenant?: string;

  @ApiPropertyOptional()
  @IsOptional()
  @IsString()
  @Matches(NAME)
  principal?: string;
}

/** Body of `POST /v1/keys`. */
export class CreateKeyBody {
  @ApiProperty({ enum: SCOPES, isArray: true, description: 'Of those you have.' })
  @IsDefined()
  @IsIn(SCOPES, { each: true })
  @ArrayNotEmpty()
  @ArrayMaxSize(SCOPES.length)
  scopes!: Scope[];

  @ApiPropertyOptional({
    description: 'Whose key it is; absent: yours. To give another `tasks:` scopes takes `tasks:all`.',
  })
  @IsOptional()
  @IsString()
  @Matches(NAME)
  principal?: string | null;

  @ApiPropertyOptional({ description: 'Absent: your tenant. Another needs `platform:admin`.' })
  @IsOptional()
  @IsString()
  @Matches(TENANT)
  tenant?: string | null;

  @ApiPropertyOptional({ description: 'What you call it.' })
  @IsOptional()
  @IsString()
  @Matches(NAME)
  label?: string | null;

  @MaybeTime('When it ends; absent: never.')
  expires_at?: string | null;
}

/** Body of `POST /v1/keys/{id}/rotate`. */
export class RotateKeyBody {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: 30 * DAY_SECONDS,
    default: DEFAULT_OVERLAP_SECONDS,
    description: 'How long the secret it has goes on working beside the new one; 0: every earlier one ends now.',
  })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(30 * DAY_SECONDS)
  overlap_seconds?: number | null;
}

const TIME = { format: 'date-time' } as const;
const TIME_OR_NULL = { type: 'string', nullable: true, format: 'date-time' } as const;

/** A key without its secrets. */
export class KeyAnswer {
  @ApiProperty({ description: 'The part of the key between its underscores.' })
  id!: string;

  @ApiProperty()
  tenant!: string;

  @ApiProperty()
  principal!: string;

  @ApiProperty({ enum: SCOPES, isArray: true })
  scopes!: Scope[];

  @ApiProperty({ type: 'string', nullable: true })
  label!: string | null;

  @ApiProperty({ enum: ['live', 'expired', 'revoked'] })
  state!: 'live' | 'expired' | 'revoked';

  @ApiProperty(TIME)
  created_at!: string;

  @ApiProperty(TIME_OR_NULL)
  rotated_at!: string | null;

  @ApiProperty({
    type: 'string',
    isArray: true,
    ...TIME,
    description: 'When secrets end that were replaced and still work.',
  })
  retiring_until!: string[];

  @ApiProperty(TIME_OR_NULL)
  expires_at!: string | null;

  @ApiProperty(TIME_OR_NULL)
  revoked_at!: string | null;

  @ApiProperty({ ...TIME_OR_NULL, description: 'True to five minutes.' })
  last_used_at!: string | null;
}

/** A key that was just made, or has a new secret. */
export class NewKeyAnswer extends KeyAnswer {
  @ApiProperty({ description: 'What is sent as the credential. Shown only this once.' })
  key!: string;
}

/** A page of keys. */
export class KeysAnswer extends ListAnswer {
  @ApiProperty({ type: KeyAnswer, isArray: true })
  keys!: KeyAnswer[];
}
