import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AgentsService } from '../core/agents.service.js';
import type { Caller } from '../core/caller.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { RunStreams } from './run.streams.js';
import { encodeCapabilities } from './capabilities.mapping.js';

@ApiTags('ag-ui')
@Controller('agui/agents')
export class AgUiCapabilitiesController {
  constructor(
    private readonly agents: AgentsService,
    private readonly streams: RunStreams,
  ) {}

  @ApiOperation({ summary: 'What an agent can do, as AG-UI spells it.' })
  @ApiOkResponse({ schema: { type: 'object' } })
  @Scopes('agents:read')
  @Get(':agentId/capabilities')
  async capabilities(
    @Param('agentId') agentId: string,
    @CurrentCaller() caller: Caller,
  ): Promise<ReturnType<typeof encodeCapabilities>> {
    const { agent } = await this.agents.get(caller, agentId);
    return encodeCapabilities(agent, await this.agents.capabilities(caller, agentId), this.streams.view);
  }
}
