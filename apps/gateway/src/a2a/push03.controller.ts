import { Controller, Delete, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { decodeConfig03, encodeConfig03 } from '#lib/protocol/a2a';
import type { Caller } from '../core/caller.js';
import { RawJsonBody } from '../http/json-body.decorator.js';
import type { JsonDocument } from '../http/json-document.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { A2aCalls } from './calls.js';
import { A2aOperations, A2aServices } from './operations.js';
import { CONFIG, type ConfigPath, JSON_OBJECT, sendRest03, type TaskPath } from './rest.wire.js';

/** The same in HTTP+JSON of A2A 0.3. */
@ApiTags('a2a')
@Controller('a2a/:agent/rest/v1/tasks/:id/pushNotificationConfigs')
export class Push03Controller {
  constructor(
    private readonly calls: A2aCalls,
    private readonly services: A2aServices,
  ) {}

  @ApiOperation({ summary: '0.3: Be notified of each change of a task; with an id it has already, in place of that.' })
  @ApiConsumes('application/a2a+json', 'application/json')
  @ApiBody({ schema: CONFIG as object })
  @ApiResponse({ status: 201, ...JSON_OBJECT })
  @Scopes('tasks:read', 'webhooks:write')
  @HttpCode(201)
  @Post()
  async create(
    @Param() path: TaskPath,
    @RawJsonBody() { value }: JsonDocument,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const config = decodeConfig03(value, path.id);
    const made = await this.open(path, caller, request, response).createTaskPushNotificationConfig(config);
    sendRest03(response, 201, encodeConfig03(made));
  }

  @ApiOperation({ summary: '0.3: Who is notified of a task.' })
  @ApiOkResponse(JSON_OBJECT)
  @Scopes('tasks:read', 'webhooks:read')
  @Get()
  async list(
    @Param() path: TaskPath,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const wanted = { taskId: path.id, pageSize: 0, pageToken: '', tenant: '' };
    const { configs } = await this.open(path, caller, request, response).listTaskPushNotificationConfigs(wanted);
    sendRest03(response, 200, { configs: configs.map(encodeConfig03) });
  }

  @ApiOperation({ summary: '0.3: One of them.' })
  @ApiOkResponse(JSON_OBJECT)
  @Scopes('tasks:read', 'webhooks:read')
  @Get(':config')
  async get(
    @Param() path: ConfigPath,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const wanted = { taskId: path.id, id: path.config, tenant: '' };
    const found = await this.open(path, caller, request, response).getTaskPushNotificationConfig(wanted);
    sendRest03(response, 200, encodeConfig03(found));
  }

  @ApiOperation({ summary: '0.3: Notify no more; also where there is nobody.' })
  @ApiNoContentResponse()
  @Scopes('tasks:read', 'webhooks:write')
  @HttpCode(204)
  @Delete(':config')
  async remove(
    @Param() path: ConfigPath,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const wanted = { taskId: path.id, id: path.config, tenant: '' };
    await this.open(path, caller, request, response).deleteTaskPushNotificationConfig(wanted);
    response.status(204).end();
  }

  private open({ agent }: TaskPath, caller: Caller, request: Request, response: Response): A2aOperations {
    return new A2aOperations(this.services, this.calls.open({ caller, agentId: agent, request, response }, ['0.3']));
  }
}
