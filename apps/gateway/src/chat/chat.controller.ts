import { Controller, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { decodeRequest } from '#lib/protocol/openai-chat';
import type { Caller } from '../core/caller.js';
import { requestIdOf } from '../http/exchange.js';
import { RawJsonBody } from '../http/json-body.decorator.js';
import type { JsonDocument } from '../http/json-document.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { decodeRetry } from './chat.mapping.js';
import { COMPLETION_BODY, COMPLETION_SCHEMA } from './chat.openapi.js';
import { Replies } from './replies.js';

@ApiTags('chat')
@Controller('v1/chat/completions')
export class ChatController {
  constructor(private readonly replies: Replies) {}

  @ApiOperation({ summary: 'Run an agent as a model of OpenAI Chat Completions.' })
  @ApiHeader({
    name: 'Idempotency-Key',
    description: 'Of your request; 1 to 255 visible ASCII characters.',
    required: false,
  })
  @ApiBody({ schema: COMPLETION_BODY })
  @ApiProduces('application/json', 'text/event-stream')
  @ApiOkResponse({
    description: 'With `stream`: chunks as server-sent events.',
    headers: { 'X-Task-Id': { schema: { type: 'string' } } },
    content: {
      'application/json': { schema: COMPLETION_SCHEMA },
      'text/event-stream': { schema: { type: 'string' } },
    },
  })
  @Scopes('tasks:submit')
  @Post()
  async complete(
    @RawJsonBody() { value: body }: JsonDocument,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const decoded = decodeRequest(body);
    const ask = { caller, request: decoded, requestId: requestIdOf(response), ...decodeRetry(request.headers, body) };
    await (decoded.isStream ? this.replies.stream(ask, request, response) : this.replies.answer(ask, response));
  }
}
