import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { DETAILS, EVENTS, INPUT_MODES, STEP_STATES, TASK_STATES } from '#lib/domain';
import type { Detail, InputMode, ResultBody, StepState, TaskState, TaskStatus, UsageBody } from '#lib/domain';

export const STATUSES: readonly TaskStatus[] = [
  'pending',
  'running',
  'awaiting_confirm',
  'success',
  'error',
  'cancelled',
];
const TIME = { type: 'string', format: 'date-time' } as const;
const TIME_OR_NULL = { ...TIME, nullable: true } as const;
const TEXT_OR_NULL = { type: 'string', nullable: true } as const;
const KIND = ['tool_confirmation', 'question', 'client_tool', 'authorization'] as const;

export class LinksAnswer {
  @ApiProperty()
  self!: string;

  @ApiProperty()
  events!: string;

  @ApiProperty()
  wait!: string;

  @ApiProperty()
  cancel!: string;

  @ApiProperty()
  artifacts!: string;
}

export class WarningAnswer {
  @ApiProperty({ description: 'JSON Pointer of what it is about.' })
  path!: string;

  @ApiProperty()
  code!: string;

  @ApiProperty()
  message!: string;
}

/** Where a task stands, and where to go on from there. */
export class StandingAnswer {
  @ApiProperty()
  task_id!: string;

  @ApiProperty({ enum: STATUSES })
  status!: TaskStatus;

  @ApiProperty({ enum: TASK_STATES })
  state!: TaskState;

  @ApiProperty()
  links!: LinksAnswer;
}

export class SubmitAnswer extends StandingAnswer {
  @ApiPropertyOptional({
    type: [WarningAnswer],
    description: 'What was understood in another sense than it may have been meant; absent when nothing was.',
  })
  warnings?: readonly WarningAnswer[];
}

export class ErrorAnswer {
  @ApiProperty()
  code!: string;

  @ApiProperty()
  message!: string;
}

export class BackendAnswer {
  @ApiProperty()
  runner!: string;

  @ApiProperty()
  version!: string;
}

export class PendingConfirmAnswer {
  @ApiProperty()
  tool_call_id!: string;

  @ApiProperty({ enum: KIND })
  kind!: (typeof KIND)[number];

  @ApiPropertyOptional()
  tool_name?: string;

  @ApiPropertyOptional({ description: 'Of the call, as it will be made.' })
  arguments?: unknown;

  @ApiPropertyOptional()
  prompt?: string;

  @ApiProperty({ description: 'Of what is decided about; it never changes.' })
  digest!: string;

  @ApiProperty(TIME)
  expires_at!: string;
}

export class TaskAnswer {
  @ApiProperty()
  task_id!: string;

  @ApiProperty(TEXT_OR_NULL)
  session_id!: string | null;

  @ApiProperty(TEXT_OR_NULL)
  type!: string | null;

  @ApiProperty()
  agent_id!: string;

  @ApiProperty()
  backend!: BackendAnswer;

  @ApiProperty({ enum: TASK_STATES })
  state!: TaskState;

  @ApiProperty({ enum: STATUSES })
  status!: TaskStatus;

  @ApiProperty({ type: 'integer' })
  run_no!: number;

  @ApiProperty({ type: 'integer' })
  last_seq!: number;

  @ApiProperty({ type: 'integer' })
  event_count!: number;

  @ApiProperty(TEXT_OR_NULL)
  current_step!: string | null;

  @ApiProperty({
    type: 'object',
    nullable: true,
    additionalProperties: true,
    description: '`text`, `data`, `metadata`.',
  })
  result!: ResultBody | null;

  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  usage!: UsageBody | null;

  @ApiProperty({ type: ErrorAnswer, nullable: true })
  error!: ErrorAnswer | null;

  @ApiProperty({ type: [PendingConfirmAnswer] })
  pending_confirms!: PendingConfirmAnswer[];

  @ApiProperty(TEXT_OR_NULL)
  wait_id!: string | null;

  @ApiProperty(TEXT_OR_NULL)
  waiting_on!: string | null;

  @ApiProperty(TEXT_OR_NULL)
  blocked_by!: string | null;

  @ApiProperty()
  stalled!: boolean;

  @ApiProperty()
  cancel_requested!: boolean;

  @ApiProperty({ type: 'integer' })
  artifact_count!: number;

  @ApiProperty(TIME_OR_NULL)
  last_heartbeat_at!: string | null;

  @ApiProperty(TIME)
  last_progress_at!: string;

  @ApiProperty(TIME)
  deadline_at!: string;

  @ApiProperty(TIME_OR_NULL)
  held_until!: string | null;

  @ApiProperty({ type: 'integer' })
  priority!: number;

  @ApiProperty({ enum: DETAILS })
  detail!: Detail;

  @ApiProperty({ description: 'The principal that submitted it.' })
  created_by!: string;

  @ApiProperty(TIME)
  created_at!: string;

  @ApiProperty(TIME_OR_NULL)
  started_at!: string | null;

  @ApiProperty(TIME)
  updated_at!: string;

  @ApiProperty(TIME_OR_NULL)
  finished_at!: string | null;
}

export class SyncAnswer extends TaskAnswer {
  @ApiPropertyOptional({ type: [WarningAnswer], description: 'As in the answer to a submission.' })
  warnings?: readonly WarningAnswer[];
}

export class WaitAnswer extends TaskAnswer {
  @ApiProperty({ description: 'The time ran out; the task is neither waiting nor ended.' })
  timed_out!: boolean;
}

/** What every list says about its next page. */
export class ListAnswer {
  @ApiProperty({ ...TEXT_OR_NULL, description: 'Null on the last page.' })
  next_cursor!: string | null;
}

export class TasksAnswer extends ListAnswer {
  @ApiProperty({ type: [TaskAnswer] })
  tasks!: TaskAnswer[];
}

export class StepAnswer {
  @ApiProperty()
  step_id!: string;

  @ApiProperty()
  step_name!: string;

  @ApiProperty({ enum: STEP_STATES })
  state!: StepState;

  @ApiProperty({ type: 'integer' })
  attempt!: number;

  @ApiProperty({ type: ErrorAnswer, nullable: true })
  error!: ErrorAnswer | null;

  @ApiProperty(TIME)
  started_at!: string;

  @ApiProperty(TIME_OR_NULL)
  finished_at!: string | null;
}

export class StepsAnswer extends ListAnswer {
  @ApiProperty({ type: [StepAnswer] })
  steps!: StepAnswer[];
}

export class ArtifactAnswer {
  @ApiProperty()
  artifact_id!: string;

  @ApiPropertyOptional()
  step_id?: string;

  @ApiProperty({ enum: ['produced', 'input', 'log', 'offload'] })
  kind!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty()
  media_type!: string;

  @ApiProperty({ type: 'integer', description: 'Bytes.' })
  size!: number;

  @ApiProperty({ description: 'Lower-case hex.' })
  sha256!: string;

  @ApiPropertyOptional()
  origin?: string;

  @ApiPropertyOptional({ description: 'Where it belongs among the files of its task, as its sender said.' })
  relative_path?: string;

  @ApiProperty(TIME)
  created_at!: string;

  @ApiProperty({ description: 'Needs no other credential; ends soon.' })
  download_url!: string;

  @ApiProperty(TIME)
  download_expires_at!: string;
}

export class ArtifactsAnswer extends ListAnswer {
  @ApiProperty({ type: [ArtifactAnswer] })
  artifacts!: ArtifactAnswer[];
}

export class EventAnswer {
  @ApiProperty({ enum: ['1.0'] })
  version!: string;

  @ApiProperty()
  event_id!: string;

  @ApiProperty()
  task_id!: string;

  @ApiProperty({ type: 'integer' })
  seq!: number;

  @ApiProperty({ enum: Object.keys(EVENTS) })
  event_type!: string;

  @ApiProperty(TIME)
  timestamp!: string;

  @ApiProperty({ type: 'object', additionalProperties: true })
  payload!: object;
}

export class EventsAnswer {
  @ApiProperty({ type: [EventAnswer] })
  events!: EventAnswer[];

  @ApiProperty({ type: 'integer', description: 'The last seq considered: the next `from_seq`.' })
  next_seq!: number;

  @ApiProperty()
  has_more!: boolean;

  @ApiProperty({ enum: TASK_STATES })
  state!: TaskState;
}

export class AgentAnswer {
  @ApiProperty()
  agent_id!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty()
  description!: string;

  @ApiProperty()
  enabled!: boolean;

  @ApiProperty({ description: 'It takes tasks of types that no agent declares.' })
  default!: boolean;

  @ApiProperty({ type: [String] })
  types!: readonly string[];

  @ApiProperty({ enum: INPUT_MODES, isArray: true })
  input_modes!: readonly InputMode[];

  @ApiPropertyOptional({ type: 'object', additionalProperties: true, description: 'JSON Schema of object input.' })
  input_schema?: Readonly<Record<string, unknown>>;

  @ApiProperty({ type: [String] })
  tools!: readonly string[];

  @ApiProperty(TIME)
  updated_at!: string;

  @ApiPropertyOptional({ description: 'Tasks that have not ended, of all tenants; for operators.' })
  active_tasks?: number;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'As it was written, in the spelling of agents.yaml; for operators.',
  })
  declaration?: Readonly<Record<string, unknown>>;
}

export class AgentsAnswer extends ListAnswer {
  @ApiProperty({ type: [AgentAnswer] })
  agents!: AgentAnswer[];
}

export class CapabilitiesAnswer {
  @ApiProperty()
  agent_id!: string;

  @ApiProperty({ type: [String] })
  task_types!: readonly string[];

  @ApiProperty({ enum: INPUT_MODES, isArray: true })
  input_modes!: readonly InputMode[];

  @ApiProperty({ type: [String] })
  tools!: readonly string[];

  @ApiProperty({ type: [String] })
  event_types!: readonly string[];

  @ApiProperty()
  pause!: boolean;

  @ApiProperty()
  resume!: boolean;

  @ApiProperty()
  cancel!: boolean;

  @ApiProperty({ description: 'Whether a submission may bring `tools` of its own.' })
  client_tools!: boolean;
}
