import { Controller, HttpCode, Param, Post, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CancellationsService } from '../core/cancellations.service.js';
import type { Caller } from '../core/caller.js';
import { requestIdOf } from '../http/exchange.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { JsonDocument } from '../http/json-document.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { TaskAnswer } from './answer.dto.js';
import { CancelBody } from './submit.dto.js';
import { encodeTask } from './tasks.mapping.js';

@ApiTags('tasks')
@Controller('v1/tasks')
export class CancelController {
  constructor(private readonly cancellations: CancellationsService) {}

  @ApiOperation({ summary: 'Ask a task to stop; `task.cancelled` confirms it.' })
  @ApiResponse({ status: 202, type: TaskAnswer })
  @ApiOkResponse({ type: TaskAnswer, description: 'It had ended already.' })
  @Scopes('tasks:cancel')
  @HttpCode(202)
  @Post(':id/cancel')
  async cancel(
    @Param('id') id: string,
    @JsonBody(CancelBody, { isOptional: true }) { value: body }: JsonDocument<CancelBody>,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<TaskAnswer> {
    const request = { reason: body.reason ?? undefined, requestId: requestIdOf(response) };
    const { task, accepted } = await this.cancellations.cancel(caller, id, request);
    response.status(accepted ? 202 : 200);
    return encodeTask(task);
  }
}
