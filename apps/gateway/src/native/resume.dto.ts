import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsDefined, IsOptional, IsString, Matches, MaxLength } from 'class-validator';
import { Free, NestedList } from '../http/dto.js';
import { StandingAnswer } from './answer.dto.js';

const ANY = { description: 'Any JSON.' } as const;

/** One of `decisions`. */
export class DecisionBody {
  @ApiProperty({ description: 'Of a pending item.' })
  @IsDefined()
  @IsString()
  tool_call_id!: string;

  @ApiPropertyOptional({ type: 'boolean', description: 'Only `true` approves; anything else denies.' })
  @Free()
  approved?: unknown;

  @ApiPropertyOptional({ description: 'What the model is told of a denial; blank: `Permission denied by user`.' })
  @IsOptional()
  @IsString()
  reason?: string | null;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'Takes the place of the arguments, whole; has to satisfy the schema of the tool.',
  })
  @Free()
  edited_args?: unknown;
}

/** One of `results`; either `output` or `error`. */
export class ResultBody {
  @ApiProperty({ description: 'Of a pending client-side tool, or of a question.' })
  @IsDefined()
  @IsString()
  tool_call_id!: string;

  @ApiPropertyOptional(ANY)
  @Free()
  output?: unknown;

  @ApiPropertyOptional()
  @IsOptional()
  @IsString()
  error?: string | null;
}

/** Body of `POST /v1/tasks/{id}/resume`. */
export class ResumeBody {
  @ApiPropertyOptional({
    description: 'What is answered. Required after the first pause for an answer that names no item.',
  })
  @IsOptional()
  @IsString()
  @MaxLength(200)
  @Matches(/^[\x21-\x7e]+$/)
  wait_id?: string | null;

  @ApiPropertyOptional({ type: [DecisionBody], description: 'Confirmations that are not named here are denied.' })
  @NestedList(DecisionBody)
  decisions?: DecisionBody[] | null;

  @ApiPropertyOptional({
    description:
      'Answers the one question that is pending; where none is, the reason of every denial it does not name.',
  })
  @IsOptional()
  @IsString()
  input?: string | null;

  @ApiPropertyOptional({ type: [ResultBody], description: 'Of client-side tools, and of questions.' })
  @NestedList(ResultBody)
  results?: ResultBody[] | null;
}

export class ResumeAnswer extends StandingAnswer {
  @ApiProperty({ type: 'integer', description: 'Of the run that goes on with the answer.' })
  run_no!: number;
}
