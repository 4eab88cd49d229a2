import { Controller, HttpCode, Param, Post, Res } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { AnswersService } from '../core/answers.service.js';
import type { Caller } from '../core/caller.js';
import { requestIdOf } from '../http/exchange.js';
import { JsonBody } from '../http/json-body.decorator.js';
import type { JsonDocument } from '../http/json-document.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { ResumeAnswer, ResumeBody } from './resume.dto.js';
import { decodeResume, encodeResumed } from './resume.mapping.js';

@ApiTags('tasks')
@Controller('v1/tasks/:id/resume')
export class ResumeController {
  constructor(private readonly answers: AnswersService) {}

  @ApiOperation({ summary: 'Answer what a task waits for; the first answer counts.' })
  @ApiResponse({ status: 202, type: ResumeAnswer })
  @Scopes('tasks:decide')
  @HttpCode(202)
  @Post()
  async resume(
    @Param('id') id: string,
    @JsonBody(ResumeBody) { value: body }: JsonDocument<ResumeBody>,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ResumeAnswer> {
    return encodeResumed(await this.answers.resume(caller, id, decodeResume(body, requestIdOf(response))));
  }
}
