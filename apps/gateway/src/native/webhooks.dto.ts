import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsDefined,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { DELIVERY_ERRORS, WEBHOOK_EVENTS, type WebhookEvent } from '#lib/domain';

const EVENTS = {
  description: 'What it tells of; absent: all of these.',
  type: 'array' as const,
  items: { type: 'string' as const, enum: [...WEBHOOK_EVENTS] },
};
const AGENT_IDS = {
  description: 'Of tasks of these agents only; absent: of all.',
  type: 'array' as const,
  maxItems: 100,
  items: { type: 'string' as const, maxLength: 200 },
};
const MAX_OVERLAP_SECONDS = 604_800;

/** Body of `PATCH /v1/webhooks/{id}`. */
export class WebhookPatchBody {
  @ApiPropertyOptional({ description: 'Where messages are posted to.', format: 'uri', maxLength: 2048 })
  @IsOptional()
  @IsString()
  @MaxLength(2048)
  url?: string;

  @ApiPropertyOptional({ description: 'For people.', maxLength: 500 })
  @IsOptional()
  @IsString()
  @MaxLength(500)
  description?: string;

  @ApiPropertyOptional(EVENTS)
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayUnique()
  @IsIn(WEBHOOK_EVENTS, { each: true })
  events?: WebhookEvent[];

  @ApiPropertyOptional({ ...AGENT_IDS, nullable: true })
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(100)
  @IsString({ each: true })
  @MaxLength(200, { each: true })
  agent_ids?: string[] | null;

  @ApiPropertyOptional({ description: 'False: nothing is sent, and what happens meanwhile is not told later.' })
  @IsOptional()
  @IsBoolean()
  enabled?: boolean;
}

/** Body of `POST /v1/webhooks`. */
export class WebhookBody extends WebhookPatchBody {
  @ApiProperty({ description: 'Where messages are posted to.', format: 'uri', maxLength: 2048 })
  @IsDefined()
  declare url: string;
}

/** Body of the rotations. */
export class RotateBody {
  @ApiPropertyOptional({
    description: 'How long messages are signed with the secret before as well.',
    type: 'integer',
    minimum: 0,
    maximum: MAX_OVERLAP_SECONDS,
    default: 86_400,
  })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MAX_OVERLAP_SECONDS)
  overlap_seconds?: number;
}

const TIME = { type: String, format: 'date-time' } as const;
const TIME_OR_NULL = { ...TIME, nullable: true } as const;

export class WebhookAnswer {
  @ApiProperty() webhook_id!: string;
  @ApiProperty() url!: string;
  @ApiProperty({ type: String, nullable: true }) description!: string | null;
  @ApiProperty(EVENTS) events!: readonly WebhookEvent[];
  @ApiProperty({ ...AGENT_IDS, nullable: true }) agent_ids!: readonly string[] | null;
  @ApiProperty({
    enum: ['tenant', 'own'],
    description: 'Whose tasks it tells of: all of the tenant, or those of `created_by`.',
  })
  reach!: string;
  @ApiProperty() enabled!: boolean;
  @ApiProperty({
    type: String,
    nullable: true,
    enum: ['owner', 'gone', 'failing'],
    description: '`gone`: its receiver answered 410. `failing`: every attempt of five days has failed.',
  })
  disabled_reason!: string | null;
  @ApiProperty(TIME_OR_NULL) disabled_at!: string | null;
  @ApiProperty({ ...TIME_OR_NULL, description: 'Since when every attempt has failed.' })
  failing_since!: string | null;
  @ApiProperty() created_by!: string;
  @ApiProperty(TIME) created_at!: string;
  @ApiProperty(TIME) updated_at!: string;
  @ApiProperty(TIME) secret_since!: string;
  @ApiProperty({ ...TIME_OR_NULL, description: 'Until when messages are signed with the secret before as well.' })
  old_secret_until!: string | null;
}

export class NewWebhookAnswer extends WebhookAnswer {
  @ApiProperty({ description: 'What messages are signed with: shown this once.' }) secret!: string;
}

export class WebhooksAnswer {
  @ApiProperty({ type: [WebhookAnswer] }) webhooks!: readonly WebhookAnswer[];
  @ApiProperty({ type: String, nullable: true, description: 'Null: a tenant has few enough for one page.' })
  next_cursor!: null;
}

export class CallbackSecretAnswer {
  @ApiProperty({ description: 'What messages are signed with: shown this once.' }) secret!: string;
  @ApiProperty({ ...TIME_OR_NULL, description: 'Until when they are signed with the secret before as well.' })
  old_secret_until!: string | null;
}

const STATUS = { type: 'integer', nullable: true, description: 'Of the answer; null: there was none.' } as const;
const ERROR = {
  type: String,
  enum: [...DELIVERY_ERRORS],
  nullable: true,
  description: 'Why it came to nothing; null: it was delivered. `http`: by its status.',
} as const;

export class TestAnswer {
  @ApiProperty() delivered!: boolean;
  @ApiProperty(STATUS) status!: number | null;
  @ApiProperty(ERROR) error!: string | null;
  @ApiProperty({ type: 'integer' }) latency_ms!: number;
}

export class AttemptAnswer {
  @ApiProperty({ type: 'integer' }) attempt!: number;
  @ApiProperty(TIME) at!: string;
  @ApiProperty(STATUS) status!: number | null;
  @ApiProperty(ERROR) error!: string | null;
  @ApiProperty({ type: 'integer' }) latency_ms!: number;
}

export class DeliveryAnswer {
  @ApiProperty({ description: 'The id of the event, and the `webhook-id` of the message.' }) delivery_id!: string;
  @ApiProperty() task_id!: string;
  @ApiProperty({ enum: [...WEBHOOK_EVENTS] }) event!: string;
  @ApiProperty({ type: 'integer' }) seq!: number;
  @ApiProperty({ enum: ['pending', 'delivered', 'failed'] }) state!: string;
  @ApiProperty(TIME) created_at!: string;
  @ApiProperty({ ...TIME_OR_NULL, description: 'Null once it is delivered or given up.' })
  next_attempt_at!: string | null;
  @ApiProperty({ type: [AttemptAnswer], description: 'The newest 30, oldest first.' })
  attempts!: readonly AttemptAnswer[];
}

export class DeliveriesAnswer {
  @ApiProperty({ type: [DeliveryAnswer] }) deliveries!: readonly DeliveryAnswer[];
  @ApiProperty({ type: String, nullable: true }) next_cursor!: string | null;
}
