import { Controller, Delete, Get, HttpCode, Param, Patch, Post, Res } from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import type { Caller } from '../core/caller.js';
import { WebhooksService } from '../core/webhooks.service.js';
import { requestIdOf } from '../http/exchange.js';
import { JsonBody } from '../http/json-body.decorator.js';
import type { JsonDocument } from '../http/json-document.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import {
  CallbackSecretAnswer,
  NewWebhookAnswer,
  RotateBody,
  TestAnswer,
  WebhookAnswer,
  WebhookBody,
  WebhookPatchBody,
  WebhooksAnswer,
} from './webhooks.dto.js';
import {
  decodeChange,
  decodeOverlapMs,
  decodeWebhook,
  encodeCallbackSecret,
  encodeNewWebhook,
  encodeTest,
  encodeWebhook,
} from './webhooks.mapping.js';

@ApiTags('webhooks')
@Controller('v1')
export class WebhooksController {
  constructor(private readonly webhooks: WebhooksService) {}

  @ApiOperation({ summary: 'Your webhooks, with `tasks:all` those of the tenant; oldest first.' })
  @ApiOkResponse({ type: WebhooksAnswer })
  @Scopes('webhooks:read')
  @Get('webhooks')
  async list(@CurrentCaller() caller: Caller): Promise<WebhooksAnswer> {
    return { webhooks: (await this.webhooks.list(caller)).map(encodeWebhook), next_cursor: null };
  }

  @ApiOperation({ summary: 'Be told what becomes of your tasks, with `tasks:all` of those of the tenant.' })
  @ApiResponse({ status: 201, type: NewWebhookAnswer, headers: { Location: { schema: { type: 'string' } } } })
  @Scopes('webhooks:write')
  @HttpCode(201)
  @Post('webhooks')
  async create(
    @JsonBody(WebhookBody) { value }: JsonDocument<WebhookBody>,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<NewWebhookAnswer> {
    const made = await this.webhooks.create(caller, decodeWebhook(value), requestIdOf(response));
    response.setHeader('Location', `/v1/webhooks/${made.webhook.id}`);
    return encodeNewWebhook(made);
  }

  @ApiOperation({ summary: 'A new secret for the callbacks of your tasks.' })
  @ApiOkResponse({ type: CallbackSecretAnswer })
  @Scopes('webhooks:write')
  @HttpCode(200)
  @Post('callback-secret\\:rotate')
  async rotateCallbackSecret(
    @JsonBody(RotateBody, { isOptional: true }) { value }: JsonDocument<RotateBody>,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<CallbackSecretAnswer> {
    const secret = await this.webhooks.rotateCallbackSecret(caller, decodeOverlapMs(value), requestIdOf(response));
    return encodeCallbackSecret(secret);
  }

  @ApiOperation({ summary: 'One webhook.' })
  @ApiOkResponse({ type: WebhookAnswer })
  @Scopes('webhooks:read')
  @Get('webhooks/:id')
  async get(@Param('id') id: string, @CurrentCaller() caller: Caller): Promise<WebhookAnswer> {
    return encodeWebhook(await this.webhooks.get(caller, id));
  }

  @ApiOperation({ summary: 'Change a webhook, or switch it off and on; what is absent stays.' })
  @ApiOkResponse({ type: WebhookAnswer })
  @Scopes('webhooks:write')
  @Patch('webhooks/:id')
  async change(
    @Param('id') id: string,
    @JsonBody(WebhookPatchBody) { value }: JsonDocument<WebhookPatchBody>,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<WebhookAnswer> {
    return encodeWebhook(await this.webhooks.change(caller, id, decodeChange(value), requestIdOf(response)));
  }

  @ApiOperation({ summary: 'Remove a webhook, with what was still to be sent.' })
  @ApiNoContentResponse()
  @Scopes('webhooks:write')
  @HttpCode(204)
  @Delete('webhooks/:id')
  async remove(
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<void> {
    await this.webhooks.remove(caller, id, requestIdOf(response));
  }

  @ApiOperation({ summary: 'A new secret; for a while messages are signed with the one before as well.' })
  @ApiOkResponse({ type: NewWebhookAnswer })
  @Scopes('webhooks:write')
  @HttpCode(200)
  @Post('webhooks/:id/secret\\:rotate')
  async rotate(
    @Param('id') id: string,
    @JsonBody(RotateBody, { isOptional: true }) { value }: JsonDocument<RotateBody>,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<NewWebhookAnswer> {
    return encodeNewWebhook(await this.webhooks.rotate(caller, id, decodeOverlapMs(value), requestIdOf(response)));
  }

  @ApiOperation({ summary: 'Send a message of the type `webhook.test` now, and say what came of it.' })
  @ApiOkResponse({ type: TestAnswer })
  @Scopes('webhooks:write')
  @HttpCode(200)
  @Post('webhooks/:id/test')
  async test(
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<TestAnswer> {
    return encodeTest(await this.webhooks.test(caller, id, requestIdOf(response)));
  }
}
