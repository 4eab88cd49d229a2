import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiExtraModels, ApiHeader, ApiOkResponse, ApiOperation, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { Caller } from '../core/caller.js';
import { StreamsService } from '../core/streams.service.js';
import { leftSignal, negotiate, sendJson } from '../http/exchange.js';
import { QueryPipe } from '../http/query.pipe.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { EventStreams } from '../http/sse.js';
import { EventsAnswer } from './answer.dto.js';
import { decodeView, encodeEventPage } from './events.mapping.js';
import { EventsQuery } from './query.dto.js';

const DEFAULT_LIMIT = 100;

@ApiTags('tasks')
@Controller('v1/tasks/:id/events')
export class EventsController {
  constructor(
    private readonly logs: StreamsService,
    private readonly streams: EventStreams,
  ) {}

  @ApiOperation({ summary: 'The events of a task: replayed and then live, or as JSON pages.' })
  @ApiHeader({
    name: 'Last-Event-ID',
    description: 'Exclusive: a `seq`, or the id of an event of this task.',
    required: false,
  })
  @ApiExtraModels(EventsAnswer)
  @ApiOkResponse({
    content: {
      'text/event-stream': { schema: { type: 'string' } },
      'application/json': { schema: { $ref: getSchemaPath(EventsAnswer) } },
    },
  })
  @Scopes('tasks:read')
  @Get()
  async events(
    @Param('id') id: string,
    @Query(QueryPipe) query: EventsQuery,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const view = decodeView(query, request.get('last-event-id'));
    if (negotiate(request, ['text/event-stream', 'application/json']) === 'text/event-stream') {
      return this.streams.serve(request, response, () => this.logs.open(caller, id, view));
    }
    const { limit = DEFAULT_LIMIT, wait_seconds = 0 } = query;
    const page = await this.logs.page(caller, id, {
      ...view,
      limit,
      waitMs: wait_seconds * 1000,
      signal: leftSignal(response),
    });
    sendJson(response, 200, encodeEventPage(page));
  }
}
