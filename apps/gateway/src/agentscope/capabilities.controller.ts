import { Controller, Get, Param } from '@nestjs/common';
import { ApiDefaultResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AgentsService } from '../core/agents.service.js';
import type { Caller } from '../core/caller.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { CAPABILITIES_SCHEMA, ERROR_SCHEMA } from './tasks.schemas.js';

/** Beside AgentScope's contract, which tells nothing of agents. */
@ApiTags('agentscope')
@ApiDefaultResponse({ schema: ERROR_SCHEMA, description: 'Any error.' })
@Controller('agents')
export class AgentScopeCapabilitiesController {
  constructor(private readonly agents: AgentsService) {}

  @ApiOperation({ summary: 'What an agent can do.' })
  @ApiOkResponse({ schema: CAPABILITIES_SCHEMA })
  @Scopes('agents:read')
  @Get(':id/capabilities')
  async capabilities(@Param('id') id: string, @CurrentCaller() caller: Caller): Promise<object> {
    const { agentId, types, inputModes, tools, events, pause, resume, cancel } = await this.agents.capabilities(
      caller,
      id,
    );
    return {
      ...{ agent_id: agentId, task_types: types, input_modes: inputModes, tools },
      ...{ event_types: events, pause, resume, cancel },
    };
  }
}
