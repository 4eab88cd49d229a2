import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AgentsService } from '../core/agents.service.js';
import type { Caller } from '../core/caller.js';
import { QueryPipe } from '../http/query.pipe.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { encodeAgent, encodeAgents, encodeCapabilities } from './agents.mapping.js';
import { AgentAnswer, AgentsAnswer, CapabilitiesAnswer } from './answer.dto.js';
import { PageQuery } from './query.dto.js';

@ApiTags('agents')
@Scopes('agents:read')
@Controller('v1/agents')
export class AgentsController {
  constructor(private readonly agents: AgentsService) {}

  @ApiOperation({ summary: 'The agents you may use, by id.' })
  @ApiOkResponse({ type: AgentsAnswer })
  @Get()
  async list(@Query(QueryPipe) query: PageQuery, @CurrentCaller() caller: Caller): Promise<AgentsAnswer> {
    return encodeAgents(await this.agents.list(caller), query);
  }

  @ApiOperation({ summary: 'One agent.' })
  @ApiOkResponse({ type: AgentAnswer })
  @Get(':id')
  async get(@Param('id') id: string, @CurrentCaller() caller: Caller): Promise<AgentAnswer> {
    return encodeAgent(await this.agents.get(caller, id));
  }

  @ApiOperation({ summary: 'What an agent can do.' })
  @ApiOkResponse({ type: CapabilitiesAnswer })
  @Get(':id/capabilities')
  async capabilities(@Param('id') id: string, @CurrentCaller() caller: Caller): Promise<CapabilitiesAnswer> {
    return encodeCapabilities(await this.agents.capabilities(caller, id));
  }
}
