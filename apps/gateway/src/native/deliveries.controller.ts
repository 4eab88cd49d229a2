import { Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import type { Caller } from '../core/caller.js';
import { DeliveriesService } from '../core/deliveries.service.js';
import { requestIdOf } from '../http/exchange.js';
import { QueryPipe } from '../http/query.pipe.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { decodePage, PageQuery } from '../http/page.query.js';
import { DeliveriesAnswer, DeliveryAnswer } from './webhooks.dto.js';
import { encodeDeliveries, encodeDelivery } from './webhooks.mapping.js';

@ApiTags('webhooks')
@Controller('v1')
export class DeliveriesController {
  constructor(private readonly deliveries: DeliveriesService) {}

  @ApiOperation({ summary: 'What was sent to a webhook and what came of it, newest first.' })
  @ApiOkResponse({ type: DeliveriesAnswer })
  @Scopes('webhooks:read')
  @Get('webhooks/:id/deliveries')
  async ofWebhook(
    @Param('id') id: string,
    @Query(QueryPipe) query: PageQuery,
    @CurrentCaller() caller: Caller,
  ): Promise<DeliveriesAnswer> {
    return encodeDeliveries(await this.deliveries.ofWebhook(caller, id, decodePage(query)));
  }

  @ApiOperation({ summary: 'Send a message again, whatever became of it.' })
  @ApiResponse({ status: 202, type: DeliveryAnswer })
  @Scopes('webhooks:write')
  @HttpCode(202)
  @Post('webhooks/:id/deliveries/:did\\:replay')
  async replayToWebhook(
    @Param('id') id: string,
    @Param('did') deliveryId: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<DeliveryAnswer> {
    const request = { deliveryId, requestId: requestIdOf(response) };
    return encodeDelivery(await this.deliveries.replayToWebhook(caller, id, request));
  }

  @ApiOperation({ summary: 'What was sent to the callback of a task and what came of it, newest first.' })
  @ApiOkResponse({ type: DeliveriesAnswer })
  @Scopes('tasks:read')
  @Get('tasks/:id/deliveries')
  async ofTask(
    @Param('id') id: string,
    @Query(QueryPipe) query: PageQuery,
    @CurrentCaller() caller: Caller,
  ): Promise<DeliveriesAnswer> {
    return encodeDeliveries(await this.deliveries.ofTask(caller, id, decodePage(query)));
  }

  @ApiOperation({ summary: 'Send a message to the callback of a task again, whatever became of it.' })
  @ApiResponse({ status: 202, type: DeliveryAnswer })
  @Scopes('tasks:submit')
  @HttpCode(202)
  @Post('tasks/:id/deliveries/:did\\:replay')
  async replayToCallback(
    @Param('id') id: string,
    @Param('did') deliveryId: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<DeliveryAnswer> {
    const request = { deliveryId, requestId: requestIdOf(response) };
    return encodeDelivery(await this.deliveries.replayToCallback(caller, id, request));
  }
}
