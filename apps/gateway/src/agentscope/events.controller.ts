import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiDefaultResponse, ApiHeader, ApiOkResponse, ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { DomainError } from '#lib/domain';
import { STREAMING_OFF, TaskEventEncoder } from '#lib/protocol/agentscope';
import { AwaitedStreams } from '../core/awaited-streams.js';
import type { Caller } from '../core/caller.js';
import { negotiate, requestIdOf } from '../http/exchange.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { EventStreams } from '../http/sse.js';
import { AgentScopeSettings } from './agentscope.options.js';
import { RemoteEventStream } from './event.stream.js';
import { decodeCursor } from './tasks.mapping.js';
import { ERROR_SCHEMA } from './tasks.schemas.js';

@ApiTags('agentscope')
@ApiDefaultResponse({ schema: ERROR_SCHEMA, description: 'Any error.' })
@Controller('tasks/:id/events')
export class AgentScopeEventsController {
  constructor(
    private readonly awaited: AwaitedStreams,
    private readonly streams: EventStreams,
    private readonly settings: AgentScopeSettings,
  ) {}

  @ApiOperation({
    summary: 'The events of a task, replayed and then live; also of one that is submitted a little later.',
  })
  @ApiQuery({ name: 'from_seq', required: false, schema: { type: 'integer' }, description: 'Exclusive.' })
  @ApiHeader({ name: 'Last-Event-ID', required: false, description: 'The same, unless `from_seq` says so.' })
  @ApiOkResponse({ content: { 'text/event-stream': { schema: { type: 'string' } } } })
  @Scopes('tasks:read')
  @Get()
  async events(
    @Param('id') id: string,
    @Query('from_seq') fromSeq: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { isStreaming, isAnswerable, maxHoldMs } = this.settings.options;
    if (!isStreaming) throw new DomainError('not_available', STREAMING_OFF);
    negotiate(request, ['text/event-stream']);
    const after = decodeCursor(fromSeq, request.get('last-event-id'));
    await this.streams.serve(request, response, async () => {
      const events = await this.awaited.open(caller, id, requestIdOf(response));
      const encoder = new TaskEventEncoder(id, { hidesConfirms: !isAnswerable });
      return new RemoteEventStream(events, encoder, { after, maxAgeMs: maxHoldMs });
    });
  }
}
