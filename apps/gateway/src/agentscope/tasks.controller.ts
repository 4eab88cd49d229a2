import { Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiBody, ApiDefaultResponse, ApiOkResponse, ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { DomainError, isTerminal } from '#lib/domain';
import {
  decideAll,
  decodeResume,
  decodeSubmit,
  type TaskOutcome,
  type TaskSnapshotAnswer,
} from '#lib/protocol/agentscope';
import { AnswersService } from '../core/answers.service.js';
import { AwaitedStreams } from '../core/awaited-streams.js';
import type { Caller } from '../core/caller.js';
import { CancellationsService } from '../core/cancellations.service.js';
import { ResultsService } from '../core/results.service.js';
import { SubmissionsService } from '../core/submissions.service.js';
import { TasksService } from '../core/tasks.service.js';
import { leftSignal, requestIdOf } from '../http/exchange.js';
import { RawJsonBody } from '../http/json-body.decorator.js';
import type { JsonDocument } from '../http/json-document.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { AgentScopeSettings } from './agentscope.options.js';
import { decodeTimeout, encodeSubmitted, encodeTask, encodeWaited, toSubmitRequest } from './tasks.mapping.js';
import {
  ERROR_SCHEMA,
  RESUME_SCHEMA,
  STANDING_SCHEMA,
  SUBMIT_SCHEMA,
  TASK_SCHEMA,
  WAIT_SCHEMA,
} from './tasks.schemas.js';

@ApiTags('agentscope')
@ApiDefaultResponse({ schema: ERROR_SCHEMA, description: 'Any error.' })
@Controller('tasks')
export class AgentScopeTasksController {
  constructor(
    private readonly submissions: SubmissionsService,
    private readonly awaited: AwaitedStreams,
    private readonly tasks: TasksService,
    private readonly results: ResultsService,
    private readonly answers: AnswersService,
    private readonly cancellations: CancellationsService,
    private readonly settings: AgentScopeSettings,
  ) {}

  @ApiOperation({ summary: 'Submit a task under a name of your own; the same once more is no other task.' })
  @ApiBody({ schema: SUBMIT_SCHEMA })
  @ApiOkResponse({ schema: STANDING_SCHEMA })
  @Scopes('tasks:submit')
  @HttpCode(200)
  @Post()
  async submit(
    @RawJsonBody() body: JsonDocument,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<object> {
    const request = toSubmitRequest(body, decodeSubmit(body.value), requestIdOf(response));
    const submitted = await this.submissions.submit(caller, request);
    if (submitted.created) this.awaited.announce(submitted.taskId);
    else if (isTerminal(submitted.state)) {
      throw new DomainError('idempotency_conflict', `task already finished: ${submitted.taskId}`);
    }
    return encodeSubmitted(submitted);
  }

  @ApiOperation({ summary: 'Where a task stands.' })
  @ApiOkResponse({ schema: TASK_SCHEMA })
  @Scopes('tasks:read')
  @Get(':id')
  async snapshot(@Param('id') id: string, @CurrentCaller() caller: Caller): Promise<TaskSnapshotAnswer> {
    const task = await this.tasks.snapshot(caller, id);
    return encodeTask(task, await this.results.textOf(task), this.settings.options);
  }

  @ApiOperation({ summary: 'Wait until a task has ended or waits for somebody.' })
  @ApiQuery({ name: 'timeout_seconds', required: false, schema: { type: 'integer', default: 7200 } })
  @ApiOkResponse({ schema: WAIT_SCHEMA })
  @Scopes('tasks:read')
  @Get(':id/wait')
  async wait(
    @Param('id') id: string,
    @Query('timeout_seconds') timeout: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<TaskOutcome> {
    const { options } = this.settings;
    const timeoutMs = decodeTimeout(timeout, options);
    const signal = leftSignal(response);
    const until = options.isAnswerable ? undefined : 'ended';
    const waited = await this.tasks.wait(caller, id, { timeoutMs, signal, until });
    return encodeWaited(waited, await this.results.textOf(waited.task), { options, timeoutMs });
  }

  @ApiOperation({ summary: 'Stop a task; whatever body comes is not read.' })
  @ApiOkResponse({ description: 'It has ended, or is to.' })
  @Scopes('tasks:cancel')
  @HttpCode(200)
  @Post(':id/cancel')
  async cancel(
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<void> {
    await this.cancellations.cancel(caller, id, { requestId: requestIdOf(response) });
  }

  @ApiOperation({ summary: 'Approve or deny what a task waits for; what is not decided is denied.' })
  @ApiBody({ schema: RESUME_SCHEMA })
  @ApiOkResponse({ schema: STANDING_SCHEMA })
  @Scopes('tasks:decide')
  @HttpCode(200)
  @Post(':id/resume')
  async resume(
    @Param('id') id: string,
    @RawJsonBody() { value }: JsonDocument,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<object> {
    if (!this.settings.options.isAnswerable) throw notWaiting();
    const decided = decodeResume(value);
    // The wire has no name for a wait: it is the one that is current as the request is read.
    const { waitId, pendingConfirmations } = await this.tasks.snapshot(caller, id);
    if (waitId === null) throw notWaiting();
    const answer = { decisions: decideAll(pendingConfirmations, decided), results: [] };
    const requestId = requestIdOf(response);
    const { taskId, state } = await this.answers.resume(caller, id, { waitId, answer, requestId });
    return { task_id: taskId, status: 'running', state };
  }
}

function notWaiting(): DomainError {
  return new DomainError('not_waiting', 'The task is not waiting for an answer.');
}
