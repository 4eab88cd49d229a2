import { Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { LiveGrant } from '../core/task-token.authenticator.js';
import { ToolCallsService } from '../core/tool-calls.service.js';
import { JsonBody } from '../http/json-body.decorator.js';
import type { JsonDocument } from '../http/json-document.js';
import { InvokeBody, InvokedAnswer, OfferedToolsAnswer } from './runtime.dto.js';
import { decodeInvoke } from './runtime.mapping.js';
import { CurrentGrant, ForRuns } from './task-token.guard.js';

@ApiTags('runtime')
@Controller('v1/runtime/tools')
export class RuntimeToolsController {
  constructor(private readonly calls: ToolCallsService) {}

  @ApiOperation({ summary: 'The tools that the run of this token may call.' })
  @ApiOkResponse({ type: OfferedToolsAnswer })
  @ForRuns('runtime:tools', 'tool.list')
  @Get()
  async list(@CurrentGrant() grant: LiveGrant): Promise<OfferedToolsAnswer> {
    return { tools: await this.calls.list(grant) };
  }

  @ApiOperation({ summary: 'Call a tool for the run of this token; its log gets the events.' })
  @ApiOkResponse({ type: InvokedAnswer })
  @ForRuns('runtime:tools', 'tool.invoke')
  @HttpCode(200)
  @Post(':name\\:invoke')
  async invoke(
    @Param('name') name: string,
    @JsonBody(InvokeBody) { value: body }: JsonDocument<InvokeBody>,
    @CurrentGrant() grant: LiveGrant,
  ): Promise<InvokedAnswer> {
    const answer = await this.calls.invoke(grant, decodeInvoke(name, body));
    return { tool_call_id: body.tool_call_id, tool_name: name, ...answer };
  }
}
