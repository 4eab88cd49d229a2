import { AgentCard, type SendMessageRequest } from '@a2a-js/sdk';
import { Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { decodeSend03, encodeSent03, encodeTask03, encodeUpdate03 } from '#lib/protocol/a2a';
import type { Caller } from '../core/caller.js';
import { sendJson } from '../http/exchange.js';
import { RawJsonBody } from '../http/json-body.decorator.js';
import type { JsonDocument } from '../http/json-document.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { EventStreams } from '../http/sse.js';
import { A2aCalls, type A2aCall } from './calls.js';
import { encodeCard03 } from './cards.js';
import { A2aOperations, A2aServices } from './operations.js';
import { integerOf, JSON_OBJECT, MessageBody } from './rest.wire.js';
import { UpdateFrames } from './updates.js';

const EVENTS = { content: { 'text/event-stream': { schema: { type: 'string' } } } } as const;

/** The HTTP+JSON binding of A2A 0.3. */
@ApiTags('a2a')
@Controller('a2a/:agent/rest/v1')
export class Rest03Controller {
  constructor(
    private readonly calls: A2aCalls,
    private readonly services: A2aServices,
    private readonly streams: EventStreams,
  ) {}

  @ApiOperation({ summary: '0.3: send a message.' })
  @MessageBody()
  @ApiResponse({ status: 201, ...JSON_OBJECT })
  @Scopes('tasks:read')
  @HttpCode(201)
  @Post('message\\:send')
  async send(
    @Param('agent') agentId: string,
    @RawJsonBody() { value }: JsonDocument,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { operations } = this.open(agentId, caller, request, response);
    sendJson(response, 201, JSON.stringify(encodeSent03(await operations.sendMessage(decodeSend03(value)))));
  }

  @ApiOperation({ summary: '0.3: send a message, and watch what becomes of it.' })
  @MessageBody()
  @ApiOkResponse(EVENTS)
  @Scopes('tasks:read')
  @HttpCode(200)
  @Post('message\\:stream')
  stream(
    @Param('agent') agentId: string,
    @RawJsonBody() { value }: JsonDocument,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { call, operations } = this.open(agentId, caller, request, response);
    const sent: SendMessageRequest = decodeSend03(value);
    return this.streams.serve(request, response, () =>
      UpdateFrames.open(call, operations.sendMessageStream(sent), encodeUpdate03),
    );
  }

  @ApiOperation({ summary: '0.3: watch a task.' })
  @ApiOkResponse(EVENTS)
  @Scopes('tasks:read')
  @Get('tasks/:id\\:subscribe')
  subscribe(
    @Param('agent') agentId: string,
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { call, operations } = this.open(agentId, caller, request, response);
    return this.streams.serve(request, response, () =>
      UpdateFrames.open(call, operations.resubscribe({ id, tenant: '' }), encodeUpdate03),
    );
  }

  @ApiOperation({ summary: '0.3: the same; clients differ in the method.' })
  @ApiOkResponse(EVENTS)
  @Scopes('tasks:read')
  @HttpCode(200)
  @Post('tasks/:id\\:subscribe')
  resubscribe(
    @Param('agent') agentId: string,
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    return this.subscribe(agentId, id, caller, request, response);
  }

  @ApiOperation({ summary: '0.3: cancel a task.' })
  @ApiOkResponse(JSON_OBJECT)
  @Scopes('tasks:read', 'tasks:cancel')
  @HttpCode(200)
  @Post('tasks/:id\\:cancel')
  async cancel(
    @Param('agent') agentId: string,
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { operations } = this.open(agentId, caller, request, response);
    const task = await operations.cancelTask({ id, tenant: '', metadata: undefined });
    sendJson(response, 200, JSON.stringify(encodeTask03(task)));
  }

  @ApiOperation({ summary: '0.3: one task.' })
  @ApiOkResponse(JSON_OBJECT)
  @Scopes('tasks:read')
  @Get('tasks/:id')
  async get(
    @Param('agent') agentId: string,
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { operations } = this.open(agentId, caller, request, response);
    const historyLength = integerOf(request.query, 'historyLength');
    sendJson(response, 200, JSON.stringify(encodeTask03(await operations.getTask({ id, historyLength, tenant: '' }))));
  }

  @ApiOperation({ summary: '0.3: the card of the agent, with what only its callers are told.' })
  @ApiOkResponse(JSON_OBJECT)
  @Scopes('agents:read')
  @Get('card')
  async card(
    @Param('agent') agentId: string,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { operations } = this.open(agentId, caller, request, response);
    const card: AgentCard = await operations.getAuthenticatedExtendedAgentCard();
    sendJson(response, 200, JSON.stringify(await encodeCard03(card)));
  }

  private open(agentId: string, caller: Caller, request: Request, response: Response): Opened {
    const call = this.calls.open({ caller, agentId, request, response }, ['0.3']);
    return { call, operations: new A2aOperations(this.services, call) };
  }
}

interface Opened {
  readonly call: A2aCall;
  readonly operations: A2aOperations;
}
