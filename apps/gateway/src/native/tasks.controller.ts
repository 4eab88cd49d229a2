import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { Caller } from '../core/caller.js';
import { TasksService } from '../core/tasks.service.js';
import { leftSignal } from '../http/exchange.js';
import { QueryPipe } from '../http/query.pipe.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { decodePage, PageQuery } from '../http/page.query.js';
import { StepsAnswer, TaskAnswer, TasksAnswer, WaitAnswer } from './answer.dto.js';
import { ListTasksQuery, WaitQuery } from './query.dto.js';
import { decodeFilter, encodeSteps, encodeTask, encodeTasks, etagOf } from './tasks.mapping.js';

const DEFAULT_WAIT_SECONDS = 60;

@ApiTags('tasks')
@Controller('v1/tasks')
export class TasksController {
  constructor(private readonly tasks: TasksService) {}

  @ApiOperation({ summary: 'List tasks, newest first.' })
  @ApiOkResponse({ type: TasksAnswer })
  @Scopes('tasks:read')
  @Get()
  async list(@Query(QueryPipe) query: ListTasksQuery, @CurrentCaller() caller: Caller): Promise<TasksAnswer> {
    return encodeTasks(await this.tasks.list(caller, decodeFilter(query), decodePage(query)));
  }

  @ApiOperation({ summary: 'Where a task stands.' })
  @ApiHeader({ name: 'If-None-Match', required: false })
  @ApiOkResponse({ type: TaskAnswer, headers: { ETag: { schema: { type: 'string' } } } })
  @Scopes('tasks:read')
  @Get(':id')
  async snapshot(
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<TaskAnswer | undefined> {
    const task = await this.tasks.snapshot(caller, id);
    response.setHeader('ETag', etagOf(task));
    if (request.headers['if-none-match'] !== etagOf(task)) return encodeTask(task);
    response.status(304);
    return undefined;
  }

  @ApiOperation({ summary: 'Wait until a task has ended or waits for somebody.' })
  @ApiOkResponse({ type: WaitAnswer, headers: { ETag: { schema: { type: 'string' } } } })
  @Scopes('tasks:read')
  @Get(':id/wait')
  async wait(
    @Param('id') id: string,
    @Query(QueryPipe) { timeout_seconds = DEFAULT_WAIT_SECONDS }: WaitQuery,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<WaitAnswer> {
    const options = { timeoutMs: timeout_seconds * 1000, signal: leftSignal(response) };
    const { task, timedOut } = await this.tasks.wait(caller, id, options);
    response.setHeader('ETag', etagOf(task));
    return { ...encodeTask(task), timed_out: timedOut };
  }

  @ApiOperation({ summary: 'The steps of a task, oldest first.' })
  @ApiOkResponse({ type: StepsAnswer })
  @Scopes('tasks:read')
  @Get(':id/steps')
  async steps(
    @Param('id') id: string,
    @Query(QueryPipe) query: PageQuery,
    @CurrentCaller() caller: Caller,
  ): Promise<StepsAnswer> {
    return encodeSteps(await this.tasks.steps(caller, id, decodePage(query)));
  }
}
