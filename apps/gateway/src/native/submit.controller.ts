import { Controller, Post, Req, Res } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiProduces,
  ApiResponse,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { Caller } from '../core/caller.js';
import { StreamsService } from '../core/streams.service.js';
import { SubmissionsService, type SubmitRequest } from '../core/submissions.service.js';
import { SyncService } from '../core/sync.service.js';
import { leftSignal, negotiate, requestIdOf, sendJson } from '../http/exchange.js';
import { JsonDocument } from '../http/json-document.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { EventStreams } from '../http/sse.js';
import { SubmitAnswer, SyncAnswer } from './answer.dto.js';
import { SubmitBody } from './submit.dto.js';
import { decodeSubmit, encodeSettled, encodeSubmitted, isSync, taskPath } from './submit.mapping.js';
import { etagOf } from './tasks.mapping.js';

const LOCATION = { Location: { schema: { type: 'string' } } } as const;

@ApiTags('tasks')
@ApiExtraModels(SyncAnswer)
@Controller('v1/tasks')
export class SubmitController {
  constructor(
    private readonly submissions: SubmissionsService,
    private readonly sync: SyncService,
    private readonly logs: StreamsService,
    private readonly streams: EventStreams,
  ) {}

  @ApiOperation({ summary: 'Submit a task; asked for `text/event-stream` it answers with its events.' })
  @ApiHeader({
    name: 'Idempotency-Key',
    description: 'Of your request; 1 to 255 visible ASCII characters.',
    required: false,
  })
  @ApiHeader({
    name: 'X-API-Mode',
    description: '`sync`: the answer waits, for a while, until the task has ended or waits for somebody.',
    schema: { type: 'string', enum: ['async', 'sync'] },
    required: false,
  })
  @ApiProduces('application/json', 'text/event-stream')
  @ApiResponse({ status: 202, type: SubmitAnswer, headers: LOCATION })
  @ApiOkResponse({
    description: 'In sync mode: the task has ended or waits for somebody. Asked for `text/event-stream`: its events.',
    headers: LOCATION,
    content: {
      'application/json': { schema: { $ref: getSchemaPath(SyncAnswer) } },
      'text/event-stream': { schema: { type: 'string' } },
    },
  })
  @Scopes('tasks:submit')
  @Post()
  async submit(
    @JsonBody(SubmitBody) body: JsonDocument<SubmitBody>,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const type = negotiate(request, ['application/json', 'text/event-stream']);
    const decoded = decodeSubmit(body, request.headers, requestIdOf(response));
    // A stream lasts as long as the task: there is nothing to wait for in addition.
    if (type === 'text/event-stream') return this.answerStream(caller, decoded, { request, response });
    if (isSync(body.value, request.headers)) return this.answerSettled(caller, decoded, response);
    const submitted = await this.submissions.submit(caller, decoded);
    response.setHeader('Location', taskPath(submitted.taskId));
    sendJson(response, 202, JSON.stringify(encodeSubmitted(submitted)));
  }

  private async answerSettled(caller: Caller, decoded: SubmitRequest, response: Response): Promise<void> {
    const signal = leftSignal(response);
    const submitted = await this.submissions.submit(caller, { ...decoded, isFollowed: true });
    const task = await this.sync.outcome(caller, submitted, signal);
    response.setHeader('Location', taskPath(submitted.taskId));
    if (!task) return sendJson(response, 202, JSON.stringify(encodeSubmitted(submitted)));
    response.setHeader('ETag', etagOf(task));
    sendJson(response, 200, JSON.stringify(encodeSettled(task, submitted)));
  }

  private async answerStream(
    caller: Caller,
    decoded: SubmitRequest,
    { request, response }: { readonly request: Request; readonly response: Response },
  ): Promise<void> {
    await this.streams.serve(request, response, async () => {
      const submitted = await this.submissions.submit(caller, { ...decoded, isFollowed: true });
      response.setHeader('Location', taskPath(submitted.taskId));
      return this.logs.openSubmitted(submitted, {});
    });
  }
}
