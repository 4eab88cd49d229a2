import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  IsBoolean,
  IsDefined,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { FILE_MODES } from '#lib/domain';
import { Free, Nested, Open } from '../http/dto.js';

/** 1 to 200 characters, none of them a control character or half of a pair. */
const NAME = /^[^\p{Cc}\p{Cs}]{1,200}$/u;
const TASK_ID = /^(?!\.+$)[A-Za-z0-9._:-]{1,200}$/;

/** Parts of an input, for the description; they are checked where every surface's are. */
const PART = { type: 'object', additionalProperties: false } as const;
const STRING = { type: 'string' } as const;
const TEXT_PART = {
  ...PART,
  required: ['type', 'text'],
  properties: { type: { ...STRING, enum: ['text'] }, text: STRING },
};
const DATA_PART = {
  ...PART,
  required: ['type', 'data'],
  properties: { type: { ...STRING, enum: ['data'] }, data: {} },
};
const FILE_PART = {
  ...PART,
  description: 'Bytes: exactly one of `data`, `artifact_id` and `url` says where they are. `url` is not available yet.',
  required: ['type'],
  properties: {
    type: { ...STRING, enum: [...FILE_MODES] },
    name: { ...STRING, maxLength: 255 },
    media_type: { ...STRING, description: 'Required beside `data`; else that of the artifact.' },
    data: { ...STRING, format: 'byte', description: 'Base64, at most 1 MiB of bytes.' },
    artifact_id: STRING,
    url: { ...STRING, format: 'uri' },
  },
};

/** The fields of `context` that mean something to us; all others are the caller's. */
@Open()
export class SubmitContext {
  @IsOptional()
  @IsString()
  @Matches(NAME)
  user_id?: string;

  @IsOptional()
  @IsString()
  @Matches(NAME)
  parent_session_id?: string;

  @IsOptional()
  @IsString()
  detail?: string;

  @IsOptional()
  @IsObject()
  attributes?: Readonly<Record<string, unknown>>;

  @Free()
  deny_rules?: unknown;

  @Free()
  allow_tools?: unknown;
}

/** Where the task tells what becomes of it. */
export class SubmitCallback {
  @IsDefined()
  @IsString()
  @MaxLength(2048)
  url!: string;
}

/** Body of `POST /v1/tasks`. */
export class SubmitBody {
  @ApiPropertyOptional({ description: 'Your own name for the task, unique in your tenant.', pattern: TASK_ID.source })
  @IsOptional()
  @IsString()
  @Matches(TASK_ID)
  task_id?: string;

  @ApiPropertyOptional({ description: 'The agent that does the work; without it `type` decides.' })
  @IsOptional()
  @IsString()
  @Matches(NAME)
  agent_id?: string;

  @ApiPropertyOptional({ description: 'What kind of work it is.' })
  @IsOptional()
  @IsString()
  @Matches(NAME)
  type?: string;

  @ApiProperty({
    description: 'What the agent works on; it arrives there exactly as sent.',
    oneOf: [
      { type: 'string' },
      { type: 'object', additionalProperties: true },
      {
        type: 'array',
        minItems: 1,
        maxItems: 256,
        items: { oneOf: [TEXT_PART, DATA_PART, FILE_PART] },
      },
    ],
  })
  @IsDefined()
  input!: unknown;

  @ApiPropertyOptional({
    description: 'Tasks of one session, agent and user run one after another, in the order they were submitted.',
    maxLength: 200,
  })
  @IsOptional()
  @IsString()
  @Matches(NAME)
  session_id?: string;

  @ApiPropertyOptional({
    description: 'Tools you run yourself, for this task only: a call of one pauses the task until you give its result.',
    type: 'array',
    maxItems: 64,
    items: {
      type: 'object',
      required: ['name'],
      additionalProperties: false,
      properties: {
        name: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,63}$' },
        description: { type: 'string', maxLength: 4096 },
        parameters: { type: 'object', additionalProperties: true, description: 'A JSON Schema of an object.' },
      },
    },
  })
  @Free()
  tools?: unknown;

  @ApiPropertyOptional({
    description: 'Around the work. Other members are kept and reach the agent.',
    type: 'object',
    additionalProperties: true,
    properties: {
      user_id: { type: 'string', maxLength: 200 },
      parent_session_id: { type: 'string', maxLength: 200 },
      detail: { type: 'string', description: '`status`, `full` or `verbose`; any other word means `status`.' },
      attributes: { type: 'object', additionalProperties: true },
      allow_tools: {
        type: 'array',
        maxItems: 1000,
        items: { type: 'string', maxLength: 200 },
        description: 'Names of tools: of those the agent has, only these.',
      },
      deny_rules: {
        type: 'array',
        maxItems: 1000,
        items: {
          type: 'object',
          required: ['tool_name'],
          additionalProperties: false,
          properties: {
            tool_name: { type: 'string', maxLength: 200 },
            rule_content: { type: 'string', description: 'Not interpreted: the whole tool is denied, with a warning.' },
            behavior: { type: 'string', description: '`deny`.' },
            source: { type: 'string' },
          },
        },
        description: 'Tools that may not be used, whatever else allows them.',
      },
    },
  })
  @Nested(SubmitContext)
  context?: SubmitContext;

  @ApiPropertyOptional({
    description: 'Bounds the whole life of the task.',
    type: 'integer',
    minimum: 1,
    maximum: 2_592_000,
  })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(2_592_000)
  deadline_seconds?: number;

  @ApiPropertyOptional({ description: '9 runs first.', type: 'integer', minimum: 0, maximum: 9, default: 5 })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(9)
  priority?: number;

  @ApiPropertyOptional({
    description: 'Is told how the task goes on and ends: docs/webhooks.md.',
    type: 'object',
    required: ['url'],
    additionalProperties: false,
    properties: { url: { type: 'string', format: 'uri', maxLength: 2048 } },
  })
  @Nested(SubmitCallback)
  callback?: SubmitCallback;

  @ApiPropertyOptional({
    description:
      'True: the task does not run before `POST /v1/tasks/{id}/start`, and fails when nobody starts it in time.',
    default: false,
  })
  @IsOptional()
  @IsBoolean()
  held?: boolean;

  @ApiPropertyOptional({
    description: 'As the header `X-API-Mode`; the two must not contradict each other.',
    enum: ['async', 'sync'],
  })
  @IsOptional()
  @IsIn(['async', 'sync'])
  mode?: string;
}

/** Body of `POST /v1/tasks/{id}/cancel`. */
export class CancelBody {
  @ApiPropertyOptional({ description: 'Kept in the log of the task.', maxLength: 1000 })
  @IsOptional()
  @IsString()
  @MaxLength(1000)
  reason?: string;
}
