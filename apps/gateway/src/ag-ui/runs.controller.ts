import { Controller, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { Caller } from '../core/caller.js';
import { requestIdOf } from '../http/exchange.js';
import { RawJsonBody } from '../http/json-body.decorator.js';
import type { JsonDocument } from '../http/json-document.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { type Exchange, RunStreams } from './run.streams.js';
import { RunsService } from './runs.service.js';
import { RUN_INPUT } from './threads.dto.js';

const ANSWER = {
  description: 'The events of the run, to its one terminal event.',
  content: { 'text/event-stream': { schema: { type: 'string' } } },
} as const;

@ApiTags('ag-ui')
@Controller('agui')
export class AgUiRunsController {
  constructor(
    private readonly runs: RunsService,
    private readonly streams: RunStreams,
  ) {}

  @ApiOperation({ summary: 'Run the agent that the header or the body names, or the default one.' })
  @ApiHeader({ name: 'X-Agent-Id', required: false })
  @ApiBody({ schema: RUN_INPUT })
  @ApiProduces('text/event-stream')
  @ApiOkResponse(ANSWER)
  @Scopes('tasks:submit')
  @HttpCode(200)
  @Post('run')
  run(
    @RawJsonBody() body: JsonDocument,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    return this.serve({ caller, request, response }, body);
  }

  @ApiOperation({ summary: 'Run an agent, or go on with what its thread waits for.' })
  @ApiBody({ schema: RUN_INPUT })
  @ApiProduces('text/event-stream')
  @ApiOkResponse(ANSWER)
  @Scopes('tasks:submit')
  @HttpCode(200)
  @Post('run/:agentId')
  runAgent(
    @Param('agentId') agentId: string,
    @RawJsonBody() body: JsonDocument,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    return this.serve({ caller, request, response }, body, agentId);
  }

  private serve(exchange: Exchange, body: JsonDocument, agentId?: string): Promise<void> {
    const { caller, request, response } = exchange;
    const asked = this.runs.read(body, { agentId, headers: request.headers, requestId: requestIdOf(response) });
    return this.streams.serveStarted(exchange, asked, () => this.runs.start(caller, asked));
  }
}
