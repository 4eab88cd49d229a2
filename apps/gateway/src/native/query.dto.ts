import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';
import { FAILURES, TASK_STATES } from '#lib/domain';
import type { FailureCode, TaskState } from '#lib/domain';
import { PageQuery } from '../http/page.query.js';
import { MaybeTime } from '../http/times.js';

const FAILURE_CODES = Object.keys(FAILURES) as FailureCode[];

/** Query of `GET /v1/tasks`. */
export class ListTasksQuery extends PageQuery {
  @ApiPropertyOptional({ description: 'May be given more than once.', enum: TASK_STATES, isArray: true })
  @IsOptional()
  @IsIn(TASK_STATES, { each: true })
  state?: TaskState[];

  @ApiPropertyOptional()
  @IsOptional()
  @IsString()
  @MaxLength(200)
  agent_id?: string;

  @ApiPropertyOptional()
  @IsOptional()
  @IsString()
  @MaxLength(200)
  type?: string;

  @ApiPropertyOptional()
  @IsOptional()
  @IsString()
  @MaxLength(200)
  session_id?: string;

  @ApiPropertyOptional({ description: 'Failed tasks of this code only: `poison`, for example.', enum: FAILURE_CODES })
  @IsOptional()
  @IsIn(FAILURE_CODES)
  error_code?: FailureCode;

  @MaybeTime('Exclusive.')
  created_after?: string;

  @MaybeTime('Exclusive.')
  created_before?: string;
}

/** Query of `GET /v1/tasks/{id}/wait`. */
export class WaitQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 270, default: 60 })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(270)
  timeout_seconds?: number;
}

/** Query of `GET /v1/tasks/{id}/events`. */
export class EventsQuery {
  @ApiPropertyOptional({
    description: 'Exclusive: a `seq`, or the id of an event of this task. Wins over `Last-Event-ID`.',
  })
  @IsOptional()
  @IsString()
  @MaxLength(100)
  from_seq?: string;

  @ApiPropertyOptional({ description: 'Shows less than the task stores: `status`, `full` or `verbose`.' })
  @IsOptional()
  @IsString()
  @MaxLength(100)
  detail?: string;

  @ApiPropertyOptional({ description: 'Only these event types, separated by commas.' })
  @IsOptional()
  @IsString()
  @MaxLength(2000)
  types?: string;

  @ApiPropertyOptional({ description: 'Of a JSON page.', type: 'integer', minimum: 1, maximum: 500, default: 100 })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(500)
  limit?: number;

  @ApiPropertyOptional({
    description: 'How long a JSON page waits for an event.',
    type: 'integer',
    minimum: 0,
    maximum: 60,
    default: 0,
  })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(60)
  wait_seconds?: number;
}

/** Query of a signed link; both are checked by the signature. */
export class LinkQuery {
  @ApiPropertyOptional({ description: 'When the link ends, in seconds since the epoch.' })
  @IsOptional()
  @IsString()
  @MaxLength(20)
  exp?: string;

  @ApiPropertyOptional({ description: 'Key id and signature.' })
  @IsOptional()
  @IsString()
  @MaxLength(200)
  sig?: string;
}

/** Query of `POST /v1/artifacts`. */
export class UploadQuery {
  @ApiPropertyOptional({
    description: 'The name of the file; wins over that in `Content-Disposition`.',
    maxLength: 255,
  })
  @IsOptional()
  @IsString()
  @MaxLength(255)
  name?: string;
}
