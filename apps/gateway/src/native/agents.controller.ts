import { Controller, Get, Param, Patch, Put, Query, Req, Res } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiHeader, ApiOkResponse, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AgentEditsService, type Edited, type EditRequest } from '../core/agent-edits.service.js';
import { AGENT_DECLARATION } from '../core/agent.schema.js';
import { AgentsService } from '../core/agents.service.js';
import type { Caller } from '../core/caller.js';
import { requestIdOf } from '../http/exchange.js';
import { RawJsonBody } from '../http/json-body.decorator.js';
import type { JsonDocument } from '../http/json-document.js';
import { QueryPipe } from '../http/query.pipe.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { PageQuery } from '../http/page.query.js';
import { agentEtag, decodeExpectation, encodeAgent, encodeAgents, encodeCapabilities } from './agents.mapping.js';
import { AgentAnswer, AgentsAnswer, CapabilitiesAnswer } from './answer.dto.js';

const ETAG = { ETag: { schema: { type: 'string' } } } as const;
const EXPECTS = { name: 'If-Match', description: 'The `ETag` of the agent that is meant.', required: false };

@ApiTags('agents')
@Scopes('agents:read')
@Controller('v1/agents')
export class AgentsController {
  constructor(
    private readonly agents: AgentsService,
    private readonly edits: AgentEditsService,
  ) {}

  @ApiOperation({ summary: 'The agents you may use, by id.' })
  @ApiOkResponse({ type: AgentsAnswer })
  @Get()
  async list(@Query(QueryPipe) query: PageQuery, @CurrentCaller() caller: Caller): Promise<AgentsAnswer> {
    return encodeAgents(await this.agents.list(caller), query);
  }

  @ApiOperation({ summary: 'One agent.' })
  @ApiOkResponse({ type: AgentAnswer, headers: ETAG })
  @Get(':id')
  async get(
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AgentAnswer> {
    const view = await this.agents.get(caller, id);
    response.setHeader('ETag', agentEtag(view.agent));
    return encodeAgent(view);
  }

  @ApiOperation({ summary: 'Declare an agent, new or in place of what it was.' })
  @ApiHeader(EXPECTS)
  @ApiHeader({ name: 'If-None-Match', description: '`*`: only if there is none yet.', required: false })
  @ApiBody({ schema: AGENT_DECLARATION, description: 'As in agents.yaml; `id` may be left out.' })
  @ApiOkResponse({ type: AgentAnswer, headers: ETAG })
  @ApiResponse({ status: 201, type: AgentAnswer, headers: ETAG, description: 'There was none before.' })
  @Scopes('agents:write', 'platform:admin')
  @Put(':id')
  async put(
    @RawJsonBody() body: JsonDocument,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AgentAnswer> {
    const edited = await this.edits.put(caller, decodeEdit(body, request, response));
    return this.answer(caller, edited, response);
  }

  @ApiOperation({ summary: 'Change parts of the declaration of an agent by a JSON merge patch (RFC 7396).' })
  @ApiHeader(EXPECTS)
  @ApiConsumes('application/merge-patch+json', 'application/json')
  @ApiBody({ schema: { type: 'object', additionalProperties: true }, description: '`null` brings a default back.' })
  @ApiOkResponse({ type: AgentAnswer, headers: ETAG })
  @Scopes('agents:write', 'platform:admin')
  @Patch(':id')
  async patch(
    @RawJsonBody() body: JsonDocument,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AgentAnswer> {
    const edited = await this.edits.patch(caller, decodeEdit(body, request, response));
    return this.answer(caller, edited, response);
  }

  @ApiOperation({ summary: 'What an agent can do.' })
  @ApiOkResponse({ type: CapabilitiesAnswer })
  @Get(':id/capabilities')
  async capabilities(@Param('id') id: string, @CurrentCaller() caller: Caller): Promise<CapabilitiesAnswer> {
    return encodeCapabilities(await this.agents.capabilities(caller, id));
  }

  private async answer(caller: Caller, { agent, isNew }: Edited, response: Response): Promise<AgentAnswer> {
    response.status(isNew ? 201 : 200);
    if (isNew) response.setHeader('Location', `/v1/agents/${agent.id}`);
    response.setHeader('ETag', agentEtag(agent));
    const [view] = await this.agents.view(caller, [agent]);
    return encodeAgent(view!);
  }
}

function decodeEdit({ value }: JsonDocument, request: Request, response: Response): EditRequest {
  return {
    agentId: String(request.params['id']),
    body: value,
    expects: decodeExpectation(request.headers),
    requestId: requestIdOf(response),
  };
}
