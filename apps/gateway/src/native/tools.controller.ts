import { Controller, Delete, Get, HttpCode, Param, Post, Put, Query, Req, Res } from '@nestjs/common';
import {
  ApiBody,
  ApiHeader,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { Caller } from '../core/caller.js';
import { TOOL_DECLARATION, type ToolEditRequest, ToolsService, type ToolView } from '../core/tools.service.js';
import { requestIdOf } from '../http/exchange.js';
import { JsonBody, RawJsonBody } from '../http/json-body.decorator.js';
import { JsonDocument } from '../http/json-document.js';
import { QueryPipe } from '../http/query.pipe.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { PageQuery } from '../http/page.query.js';
import { decodeExpectation } from './agents.mapping.js';
import { AcceptToolBody, ToolAnswer, ToolsAnswer } from './tools.dto.js';
import { encodeTool, encodeTools, toolEtag } from './tools.mapping.js';

const ETAG = { ETag: { schema: { type: 'string' } } } as const;
const EXPECTS = { name: 'If-Match', description: 'The `ETag` of the tool that is meant.', required: false };

@ApiTags('tools')
@Scopes('tools:read')
@Controller('v1/tools')
export class ToolsController {
  constructor(private readonly tools: ToolsService) {}

  @ApiOperation({ summary: 'The tools of your tenant, by id; for operators all, with servers and what is held back.' })
  @ApiOkResponse({ type: ToolsAnswer })
  @Get()
  list(@Query(QueryPipe) query: PageQuery, @CurrentCaller() caller: Caller): ToolsAnswer {
    return encodeTools(this.tools.list(caller), query);
  }

  @ApiOperation({ summary: 'One tool or MCP server.' })
  @ApiOkResponse({ type: ToolAnswer, headers: ETAG })
  @Get(':id')
  get(
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): ToolAnswer {
    return answer(this.tools.get(caller, id), response);
  }

  @ApiOperation({ summary: 'Declare a tool or an MCP server, new or in place of what it was.' })
  @ApiHeader(EXPECTS)
  @ApiHeader({ name: 'If-None-Match', description: '`*`: only if there is none yet.', required: false })
  @ApiBody({ schema: TOOL_DECLARATION, description: 'As in agents.yaml; `id` may be left out.' })
  @ApiOkResponse({ type: ToolAnswer, headers: ETAG })
  @ApiResponse({ status: 201, type: ToolAnswer, headers: ETAG, description: 'There was none before.' })
  @Scopes('tools:write', 'platform:admin')
  @Put(':id')
  async put(
    @RawJsonBody() body: JsonDocument,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ToolAnswer> {
    const { view, isNew } = await this.tools.put(caller, { ...decodeEdit(request, response), body: body.value });
    response.status(isNew ? 201 : 200);
    if (isNew) response.setHeader('Location', `/v1/tools/${view.id}`);
    return answer(view, response);
  }

  @ApiOperation({ summary: 'Remove a declaration, with what was accepted of its tools.' })
  @ApiHeader(EXPECTS)
  @ApiNoContentResponse()
  @Scopes('tools:write', 'platform:admin')
  @HttpCode(204)
  @Delete(':id')
  async remove(
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<void> {
    await this.tools.remove(caller, decodeEdit(request, response));
  }

  @ApiOperation({ summary: 'Accept what an MCP server offers under this name, as you have seen it.' })
  @ApiOkResponse({ type: ToolAnswer })
  @Scopes('tools:write', 'platform:admin')
  @HttpCode(200)
  @Post(':id/accept')
  async accept(
    @Param('id') id: string,
    @JsonBody(AcceptToolBody) { value: { digest } }: JsonDocument<AcceptToolBody>,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ToolAnswer> {
    return encodeTool(await this.tools.accept(caller, id, digest, requestIdOf(response)));
  }
}

function answer(view: ToolView, response: Response): ToolAnswer {
  const etag = toolEtag(view);
  if (etag !== undefined) response.setHeader('ETag', etag);
  return encodeTool(view);
}

function decodeEdit(request: Request, response: Response): ToolEditRequest {
  return {
    toolId: String(request.params['id']),
    expects: decodeExpectation(request.headers),
    requestId: requestIdOf(response),
  };
}
