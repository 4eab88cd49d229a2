import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString, MaxLength } from 'class-validator';

/** How the events of runs are asked for again. */
export class RunEventsQuery {
  @ApiPropertyOptional({ description: 'The version of AG-UI you understand; absent: that of the run.' })
  @IsOptional()
  @IsString()
  @MaxLength(20)
  protocolVersion?: string;
}

/** Answer to a cancel. */
export class RunCancelAnswer {
  @ApiProperty()
  threadId!: string;

  @ApiProperty()
  runId!: string;

  @ApiProperty()
  taskId!: string;

  @ApiProperty({ description: 'Of the task; `cancelled` may still have to come.' })
  state!: string;
}

/** The body of a run, for the description; AG-UI's own schema checks it. */
export const RUN_INPUT = {
  type: 'object',
  description: '`RunAgentInput` of AG-UI.',
  required: ['threadId', 'runId', 'messages'],
  properties: {
    threadId: { type: 'string' },
    runId: { type: 'string' },
    messages: { type: 'array', items: { type: 'object' } },
    tools: { type: 'array', items: { type: 'object' } },
    context: { type: 'array', items: { type: 'object' } },
    state: {},
    forwardedProps: {},
    resume: { type: 'array', items: { type: 'object' } },
    protocolVersion: { type: 'string' },
  },
};
