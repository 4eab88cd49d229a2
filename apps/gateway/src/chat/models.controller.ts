import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type AgentRecord, DomainError, isVisibleTo } from '#lib/domain';
import { encodeModel, encodeModels, type Model, type ModelList } from '#lib/protocol/openai-chat';
import { AgentDirectory } from '../core/agent.directory.js';
import type { Caller } from '../core/caller.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { MODEL_SCHEMA, MODELS_SCHEMA } from './chat.openapi.js';

const OWNER = 'switchyard';

@ApiTags('chat')
@Controller('v1/models')
export class ModelsController {
  constructor(private readonly agents: AgentDirectory) {}

  @ApiOperation({ summary: 'The agents you may use, as models.' })
  @ApiOkResponse({ schema: MODELS_SCHEMA })
  @Scopes('agents:read')
  @Get()
  list(@CurrentCaller() caller: Caller): ModelList {
    return encodeModels(this.usable(caller).map(encode));
  }

  @ApiOperation({ summary: 'One agent, as a model.' })
  @ApiOkResponse({ schema: MODEL_SCHEMA })
  @Scopes('agents:read')
  @Get(':id')
  model(@Param('id') id: string, @CurrentCaller() caller: Caller): Model {
    const agent = this.usable(caller).find((one) => one.id === id);
    if (!agent) throw new DomainError('not_found', 'There is no such model.');
    return encode(agent);
  }

  private usable({ tenant }: Caller): readonly AgentRecord[] {
    return this.agents.all().filter((agent) => agent.enabled && isVisibleTo(agent, tenant));
  }
}

function encode({ id, updatedAtMs }: AgentRecord): Model {
  return encodeModel(id, updatedAtMs, OWNER);
}
