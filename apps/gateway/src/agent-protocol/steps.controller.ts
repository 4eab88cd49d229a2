import { Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiOkResponse, ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import {
  decodeCursor,
  decodePage,
  decodeRequest,
  encodePagination,
  encodeStep,
  offsetOf,
  type Step,
  STEP_EVENTS,
} from '#lib/protocol/agent-protocol';
import type { Caller } from '../core/caller.js';
import { ResultsService } from '../core/results.service.js';
import { StreamsService } from '../core/streams.service.js';
import { TasksService } from '../core/tasks.service.js';
import { leftSignal, requestIdOf, sendJson } from '../http/exchange.js';
import { OptionalRawJsonBody } from '../http/json-body.decorator.js';
import type { JsonDocument } from '../http/json-document.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { EventStreams } from '../http/sse.js';
import { CURRENT_PAGE, PAGE_SIZE, pageOf, REQUEST_BODY, STEP } from './agent-protocol.schema.js';
import { StepFrameStream } from './step-frames.js';
import { StepsService } from './steps.service.js';
import { withWholeOutput } from './whole-output.js';

@ApiTags('agent protocol')
@Controller('ap/v1/agent/tasks/:id/steps')
export class StepsController {
  constructor(
    private readonly steps: StepsService,
    private readonly tasks: TasksService,
    private readonly logs: StreamsService,
    private readonly streams: EventStreams,
    private readonly results: ResultsService,
  ) {}

  @ApiOperation({ summary: 'Execute a step: the next one that nobody was handed yet, once it is over.' })
  @ApiBody({ schema: REQUEST_BODY, required: false })
  @ApiOkResponse({ schema: STEP })
  @Scopes('tasks:submit')
  @HttpCode(200)
  @Post()
  async execute(
    @Param('id') id: string,
    @OptionalRawJsonBody() { value }: JsonDocument,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Step> {
    const request = { body: decodeRequest(value), requestId: requestIdOf(response), signal: leftSignal(response) };
    return encodeStep(await this.steps.execute(caller, id, request));
  }

  @ApiOperation({ summary: 'List steps, oldest first; step-stream: their changes, as server-sent events.' })
  @ApiQuery(CURRENT_PAGE)
  @ApiQuery(PAGE_SIZE)
  @ApiQuery({ name: 'stream', description: '`true`: step-stream.', required: false })
  @ApiHeader({ name: 'Last-Event-ID', description: 'With `stream=true`: exclusive.', required: false })
  @ApiOkResponse({
    content: {
      'application/json': { schema: pageOf('steps', STEP) },
      'text/event-stream': { schema: { type: 'string' } },
    },
  })
  @Scopes('tasks:read')
  @Get()
  async list(
    @Param('id') id: string,
    @Query() query: Readonly<Record<string, unknown>>,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    if (query['stream'] === 'true') {
      const lastEventId = request.get('last-event-id');
      return this.streams.serve(request, response, () => this.open(caller, id, lastEventId));
    }
    const page = decodePage(query);
    const all = await this.steps.list(caller, id);
    const steps = all.slice(offsetOf(page), offsetOf(page) + page.pageSize).map(encodeStep);
    sendJson(response, 200, JSON.stringify({ steps, pagination: encodePagination(page, all.length) }));
  }

  @ApiOperation({ summary: 'One step.' })
  @ApiOkResponse({ schema: STEP })
  @Scopes('tasks:read')
  @Get(':stepId')
  async get(@Param('id') id: string, @Param('stepId') stepId: string, @CurrentCaller() caller: Caller): Promise<Step> {
    return encodeStep(await this.steps.get(caller, id, stepId));
  }

  private async open(caller: Caller, id: string, lastEventId: string | undefined): Promise<StepFrameStream> {
    const task = await this.tasks.snapshot(caller, id);
    const events = await this.logs.openSelectedEvents(task, STEP_EVENTS);
    const afterSeq = decodeCursor(lastEventId, task.lastSeq);
    const whole = (step: Step): Promise<Step> => withWholeOutput(this.results, task, step);
    return new StepFrameStream({ taskId: task.taskId, events, afterSeq, whole });
  }
}
