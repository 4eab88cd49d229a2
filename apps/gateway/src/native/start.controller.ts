import { Controller, HttpCode, Param, Post, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import type { Caller } from '../core/caller.js';
import { ReleasesService } from '../core/releases.service.js';
import { requestIdOf } from '../http/exchange.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { TaskAnswer } from './answer.dto.js';
import { encodeTask } from './tasks.mapping.js';

@ApiTags('tasks')
@Controller('v1/tasks')
export class StartController {
  constructor(private readonly releases: ReleasesService) {}

  @ApiOperation({ summary: 'Let a held task run; `task.released` confirms it.' })
  @ApiResponse({ status: 202, type: TaskAnswer })
  @ApiOkResponse({ type: TaskAnswer, description: 'It was not held, or no longer.' })
  @Scopes('tasks:submit')
  @HttpCode(202)
  @Post(':id/start')
  async start(
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<TaskAnswer> {
    const { task, released } = await this.releases.release(caller, id, { requestId: requestIdOf(response) });
    response.status(released ? 202 : 200);
    return encodeTask(task);
  }
}
