import { TaskPushNotificationConfig } from '@a2a-js/sdk';
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
import { assertForm } from '#lib/protocol/a2a';
import type { Caller } from '../core/caller.js';
import { RawJsonBody } from '../http/json-body.decorator.js';
import type { JsonDocument } from '../http/json-document.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { A2aCalls } from './calls.js';
import { A2aOperations, A2aServices } from './operations.js';
import { CONFIG, type ConfigPath, JSON_OBJECT, sendRest, type TaskPath } from './rest.wire.js';

/** Who is notified of a task, in HTTP+JSON of A2A 1.0. */
@ApiTags('a2a')
@Controller('a2a/:agent/rest/tasks/:id/pushNotificationConfigs')
export class PushController {
  constructor(
    private readonly calls: A2aCalls,
    private readonly services: A2aServices,
  ) {}

  @ApiOperation({ summary: 'Be notified of each change of a task; with an id it has already, in place of that.' })
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
    assertForm('CreateTaskPushNotificationConfig', value);
    const config = TaskPushNotificationConfig.fromJSON({ ...(value as object), taskId: path.id });
    const made = await this.open(path, caller, request, response).createTaskPushNotificationConfig(config);
    sendRest(response, 201, TaskPushNotificationConfig.toJSON(made));
  }

  @ApiOperation({ summary: 'Who is notified of a task.' })
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
    sendRest(response, 200, {
      configs: configs.map((config) => TaskPushNotificationConfig.toJSON(config)),
      nextPageToken: '',
    });
  }

  @ApiOperation({ summary: 'One of them.' })
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
    sendRest(response, 200, TaskPushNotificationConfig.toJSON(found));
  }

  @ApiOperation({ summary: 'Notify no more; also where there is nobody.' })
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
    return new A2aOperations(this.services, this.calls.open({ caller, agentId: agent, request, response }));
  }
}
