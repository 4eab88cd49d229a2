import { Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiOkResponse, ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import {
  decodePage,
  encodePagination,
  encodeTask,
  offsetOf,
  type Pagination,
  type Task,
} from '#lib/protocol/agent-protocol';
import type { Caller } from '../core/caller.js';
import { CancellationsService } from '../core/cancellations.service.js';
import { SubmissionsService } from '../core/submissions.service.js';
import { TaskRecordsService } from '../core/task-records.service.js';
import { TasksService } from '../core/tasks.service.js';
import { requestIdOf } from '../http/exchange.js';
import { OptionalRawJsonBody } from '../http/json-body.decorator.js';
import type { JsonDocument } from '../http/json-document.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { decodeCreate } from './agent-protocol.mapping.js';
import { AgentProtocolOptions } from './agent-protocol.options.js';
import { CURRENT_PAGE, PAGE_SIZE, pageOf, REQUEST_BODY, TASK } from './agent-protocol.schema.js';

@ApiTags('agent protocol')
@Controller('ap/v1/agent/tasks')
export class TasksController {
  constructor(
    private readonly options: AgentProtocolOptions,
    private readonly submissions: SubmissionsService,
    private readonly tasks: TasksService,
    private readonly records: TaskRecordsService,
    private readonly cancellations: CancellationsService,
  ) {}

  @ApiOperation({ summary: 'Create a task; its first step starts it, unless additional input is all there is.' })
  @ApiHeader({ name: 'X-Agent-Id', description: 'The agent that does the work.', required: false })
  @ApiBody({ schema: REQUEST_BODY, required: false })
  @ApiOkResponse({ schema: TASK })
  @Scopes('tasks:submit')
  @HttpCode(200)
  @Post()
  async create(
    @OptionalRawJsonBody() document: JsonDocument,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Task> {
    const agentId = request.get('x-agent-id') ?? this.options.agentId;
    const asked = decodeCreate(document, agentId, requestIdOf(response));
    const { taskKey } = await this.submissions.submit(caller, asked);
    // The client of step-stream reads a bounded number of values, as many as its arguments alone may have.
    return encodeTask(await (asked.isHeld ? this.records.asked(taskKey) : this.records.brief(taskKey)));
  }

  @ApiOperation({ summary: 'List tasks, newest first.' })
  @ApiQuery(CURRENT_PAGE)
  @ApiQuery(PAGE_SIZE)
  @ApiOkResponse({ schema: pageOf('tasks', TASK) })
  @Scopes('tasks:read')
  @Get()
  async list(
    @Query() query: Readonly<Record<string, unknown>>,
    @CurrentCaller() caller: Caller,
  ): Promise<{ readonly tasks: readonly Task[]; readonly pagination: Pagination }> {
    const page = decodePage(query);
    const { items, total } = await this.records.list(caller, { offset: offsetOf(page), limit: page.pageSize });
    return { tasks: items.map(encodeTask), pagination: encodePagination(page, total) };
  }

  @ApiOperation({ summary: 'One task.' })
  @ApiOkResponse({ schema: TASK })
  @Scopes('tasks:read')
  @Get(':id')
  async get(@Param('id') id: string, @CurrentCaller() caller: Caller): Promise<Task> {
    const { taskKey } = await this.tasks.snapshot(caller, id);
    return encodeTask(await this.records.asked(taskKey));
  }

  @ApiOperation({ summary: 'step-stream: ask a task to stop. The body is not looked at.' })
  @Scopes('tasks:cancel')
  @HttpCode(204)
  @Post(':id/cancel')
  async cancel(
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<void> {
    await this.cancellations.cancel(caller, id, { requestId: requestIdOf(response) });
  }
}
