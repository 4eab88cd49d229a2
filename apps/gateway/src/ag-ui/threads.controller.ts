import { Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiProduces, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { Caller } from '../core/caller.js';
import { requestIdOf } from '../http/exchange.js';
import { QueryPipe } from '../http/query.pipe.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { RunStreams } from './run.streams.js';
import { RunCancelAnswer, RunEventsQuery } from './threads.dto.js';
import { ThreadsService } from './threads.service.js';

const STREAM = { content: { 'text/event-stream': { schema: { type: 'string' } } } } as const;

@ApiTags('ag-ui')
@Controller('agui/threads/:threadId')
export class AgUiThreadsController {
  constructor(
    private readonly threads: ThreadsService,
    private readonly streams: RunStreams,
  ) {}

  @ApiOperation({ summary: 'All runs of a thread, one after the other, and the one that goes on.' })
  @ApiProduces('text/event-stream')
  @ApiOkResponse(STREAM)
  @Scopes('tasks:read')
  @Get('events')
  history(
    @Param('threadId') threadId: string,
    @Query(QueryPipe) { protocolVersion }: RunEventsQuery,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const find = (): ReturnType<ThreadsService['history']> => this.threads.history(caller, threadId);
    return this.streams.serveThread({ caller, request, response }, threadId, { protocolVersion }, find);
  }

  @ApiOperation({ summary: 'A run once more, from its beginning or behind the frame that was seen last.' })
  @ApiHeader({ name: 'Last-Event-ID', required: false, description: 'For consumers that keep the state they had.' })
  @ApiProduces('text/event-stream')
  @ApiOkResponse(STREAM)
  @Scopes('tasks:read')
  @Get('runs/:runId/events')
  events(
    @Param() { threadId, runId }: Readonly<Record<'threadId' | 'runId', string>>,
    @Query(QueryPipe) { protocolVersion }: RunEventsQuery,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const reader = { protocolVersion, lastEventId: request.get('last-event-id') };
    const find = (): ReturnType<ThreadsService['run']> => this.threads.run(caller, threadId, runId);
    return this.streams.serveRun({ caller, request, response }, threadId, reader, find);
  }

  @ApiOperation({ summary: 'Stop a run. Its stream tells when it has stopped.' })
  @ApiResponse({ status: 202, type: RunCancelAnswer, description: 'It is told to stop, or has stopped by that.' })
  @ApiOkResponse({ type: RunCancelAnswer, description: 'It had ended.' })
  @Scopes('tasks:cancel')
  @HttpCode(202)
  @Post('runs/:runId/cancel')
  async cancel(
    @Param() { threadId, runId }: Readonly<Record<'threadId' | 'runId', string>>,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RunCancelAnswer> {
    const request = { requestId: requestIdOf(response) };
    const { task, accepted } = await this.threads.cancel(caller, { threadId, runId }, request);
    response.status(accepted ? 202 : 200);
    return { threadId, runId, taskId: task.taskId, state: task.state };
  }
}
