import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsDefined, IsOptional, IsString, Matches, MaxLength, MinLength } from 'class-validator';
import type { ErrorBody } from '#lib/domain';
import { Free, Open } from '../http/dto.js';

/** RFC 7662, 2.1. What else a client sends is of no interest. */
@Open()
export class IntrospectBody {
  @ApiProperty({ description: 'The token that is asked about.' })
  @IsDefined()
  @IsString()
  @MaxLength(65_536)
  token!: string;

  @ApiPropertyOptional({ description: 'Not looked at: there is one kind of token.' })
  @IsOptional()
  @IsString()
  token_type_hint?: string;
}

/** RFC 7662, 2.2, and RFC 8693, 4.1. Everything but `active` is there only when it is true. */
export class IntrospectionAnswer {
  @ApiProperty({ description: 'It is genuine and its run lives at this moment.' })
  active!: boolean;

  @ApiPropertyOptional()
  scope?: string;

  @ApiPropertyOptional()
  token_type?: string;

  @ApiPropertyOptional({ description: 'In seconds since the epoch.' })
  exp?: number;

  @ApiPropertyOptional({ description: 'In seconds since the epoch.' })
  iat?: number;

  @ApiPropertyOptional({ description: 'Who asked for the task.' })
  sub?: string;

  @ApiPropertyOptional({ description: 'Who is to accept the token: compare it with your own name.' })
  aud?: string;

  @ApiPropertyOptional()
  jti?: string;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'Who acts: the runtime, for the agent.',
  })
  act?: object;

  @ApiPropertyOptional()
  tenant?: string;

  @ApiPropertyOptional()
  task_id?: string;

  @ApiPropertyOptional()
  run_no?: number;

  @ApiPropertyOptional()
  agent_id?: string;

  @ApiPropertyOptional()
  session_id?: string;

  @ApiPropertyOptional({ type: [String], description: 'Names of the tools it may call.' })
  tools?: readonly string[];
}

export class RenewedAnswer {
  @ApiProperty({ description: 'In place of the one that was sent, which lives to its own end.' })
  access_token!: string;

  @ApiProperty({ description: '`Bearer`' })
  token_type!: string;

  @ApiProperty({ description: 'In seconds.' })
  expires_in!: number;
}

export class OfferedToolAnswer {
  @ApiProperty()
  name!: string;

  @ApiProperty()
  description!: string;

  @ApiProperty({ type: 'object', additionalProperties: true, description: 'JSON Schema of the arguments.' })
  parameters!: object;

  @ApiProperty({ description: 'A call made twice does no more than one.' })
  idempotent!: boolean;

  @ApiProperty({ enum: ['allow', 'confirm'], description: '`confirm`: each call has to be approved before.' })
  policy!: 'allow' | 'confirm';
}

export class OfferedToolsAnswer {
  @ApiProperty({ type: [OfferedToolAnswer] })
  tools!: readonly OfferedToolAnswer[];
}

export class InvokeBody {
  @ApiProperty({
    description: 'Names the call within its task: the same id is made once, and answers the same again.',
    pattern: '^[A-Za-z0-9._:-]{1,200}$',
  })
  @IsDefined()
  @IsString()
  @MinLength(1)
  @MaxLength(200)
  @Matches(/^[A-Za-z0-9._:-]*$/, { message: 'must be made of letters, digits, ".", "_", ":" and "-"' })
  tool_call_id!: string;

  @ApiProperty({ type: 'object', additionalProperties: true, description: 'What the tool is called with.' })
  @IsDefined()
  @Free()
  arguments!: unknown;
}

export class InvokedAnswer {
  @ApiProperty()
  tool_call_id!: string;

  @ApiProperty()
  tool_name!: string;

  @ApiProperty({ enum: ['completed', 'failed'] })
  status!: 'completed' | 'failed';

  @ApiPropertyOptional({
    description: 'Any JSON; what is long is an artifact: `{artifact_id, size, sha256, preview}`.',
  })
  output?: unknown;

  @ApiPropertyOptional({ type: 'object', additionalProperties: true, description: '`{code, message}`' })
  error?: ErrorBody;
}
