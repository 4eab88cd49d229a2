import { AgentCard, ListTasksResponse, StreamResponse, Task, taskStateFromJSON, type TaskState } from '@a2a-js/sdk';
import { Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { decodeSend } from '#lib/protocol/a2a';
import type { Caller } from '../core/caller.js';
import { RawJsonBody } from '../http/json-body.decorator.js';
import type { JsonDocument } from '../http/json-document.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { EventStreams } from '../http/sse.js';
import { A2aCalls, type A2aCall } from './calls.js';
import { A2aOperations, A2aServices } from './operations.js';
import { integerOf, JSON_OBJECT, MessageBody, sendRest, textOfQuery } from './rest.wire.js';
import { UpdateFrames } from './updates.js';

/** The HTTP+JSON binding of A2A 1.0. */
@ApiTags('a2a')
@Controller('a2a/:agent/rest')
export class RestController {
  constructor(
    private readonly calls: A2aCalls,
    private readonly services: A2aServices,
    private readonly streams: EventStreams,
  ) {}

  @ApiOperation({ summary: 'Send a message: it begins a task, or answers one.' })
  @MessageBody()
  @ApiOkResponse(JSON_OBJECT)
  @Scopes('tasks:read')
  @HttpCode(200)
  @Post('message\\:send')
  async send(
    @Param('agent') agentId: string,
    @RawJsonBody() { value }: JsonDocument,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { operations } = this.open(agentId, caller, request, response);
    const task = await operations.sendMessage(decodeSend(value));
    sendRest(response, 200, { task: Task.toJSON(task) });
  }

  @ApiOperation({ summary: 'Send a message, and watch what becomes of it.' })
  @MessageBody()
  @ApiOkResponse({ content: { 'text/event-stream': { schema: { type: 'string' } } } })
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
    const sent = decodeSend(value);
    return this.serve(call, { request, response }, () => operations.sendMessageStream(sent));
  }

  @ApiOperation({ summary: 'Your tasks of this agent, those first whose state has changed last.' })
  @ApiOkResponse(JSON_OBJECT)
  @Scopes('tasks:read')
  @Get('tasks')
  async list(
    @Param('agent') agentId: string,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { operations } = this.open(agentId, caller, request, response);
    const { query } = request;
    const hasArtifacts = query['includeArtifacts'] === 'true';
    const page = await operations.listTasks({
      tenant: textOfQuery(query, 'tenant'),
      contextId: textOfQuery(query, 'contextId'),
      status: stateOf(textOfQuery(query, 'status')),
      pageSize: integerOf(query, 'pageSize'),
      pageToken: textOfQuery(query, 'pageToken'),
      historyLength: integerOf(query, 'historyLength'),
      statusTimestampAfter: textOfQuery(query, 'statusTimestampAfter') || undefined,
      includeArtifacts: hasArtifacts,
    });
    sendRest(response, 200, encodeList(page, hasArtifacts));
  }

  @ApiOperation({ summary: 'Watch a task: as it is, and then each change.' })
  @ApiOkResponse({ content: { 'text/event-stream': { schema: { type: 'string' } } } })
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
    return this.serve(call, { request, response }, () =>
      operations.resubscribe({ id, tenant: textOfQuery(request.query, 'tenant') }),
    );
  }

  @ApiOperation({ summary: 'The same: clients differ in the method.' })
  @ApiOkResponse({ content: { 'text/event-stream': { schema: { type: 'string' } } } })
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

  @ApiOperation({ summary: 'Cancel a task.' })
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
    const tenant = textOfQuery(request.query, 'tenant');
    sendRest(response, 200, Task.toJSON(await operations.cancelTask({ id, tenant, metadata: undefined })));
  }

  @ApiOperation({ summary: 'One task.' })
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
    const tenant = textOfQuery(request.query, 'tenant');
    sendRest(response, 200, Task.toJSON(await operations.getTask({ id, historyLength, tenant })));
  }

  @ApiOperation({ summary: 'The card of the agent, with what only its callers are told.' })
  @ApiOkResponse(JSON_OBJECT)
  @Scopes('agents:read')
  @Get('extendedAgentCard')
  async card(
    @Param('agent') agentId: string,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { operations } = this.open(agentId, caller, request, response);
    sendRest(response, 200, AgentCard.toJSON(await operations.getAuthenticatedExtendedAgentCard()));
  }

  private open(agentId: string, caller: Caller, request: Request, response: Response): Opened {
    const call = this.calls.open({ caller, agentId, request, response });
    return { call, operations: new A2aOperations(this.services, call) };
  }

  private serve(
    call: A2aCall,
    { request, response }: { readonly request: Request; readonly response: Response },
    updates: () => AsyncGenerator<StreamResponse, void, undefined>,
  ): Promise<void> {
    return this.streams.serve(request, response, () =>
      UpdateFrames.open(call, updates(), (update) => StreamResponse.toJSON(update)),
    );
  }
}

interface Opened {
  readonly call: A2aCall;
  readonly operations: A2aOperations;
}

/** A word that is no state is told so where states are looked for. */
function stateOf(word: string): TaskState {
  return taskStateFromJSON(word === '' ? 0 : word);
}

/** Lists say what they have, also where that is nothing (A2A 1.0, "List Tasks"). */
function encodeList(page: ListTasksResponse, hasArtifacts: boolean): object {
  const { tasks, nextPageToken, pageSize, totalSize } = page;
  return {
    tasks: tasks.map((task) => ({ ...(hasArtifacts ? { artifacts: [] } : {}), ...(Task.toJSON(task) as object) })),
    nextPageToken,
    pageSize,
    totalSize,
  };
}
