import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { ArtifactsService } from '../core/artifacts.service.js';
import type { Caller } from '../core/caller.js';
import { sendContent } from '../http/content.js';
import { QueryPipe } from '../http/query.pipe.js';
import { CurrentCaller, Public, Scopes } from '../http/scopes.decorator.js';
import { decodePage, PageQuery } from '../http/page.query.js';
import { ArtifactAnswer, ArtifactsAnswer } from './answer.dto.js';
import { encodeArtifact, encodeArtifacts } from './artifacts.mapping.js';
import { LinkQuery } from './query.dto.js';

const BINARY = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };

@ApiTags('artifacts')
@Controller('v1')
export class ArtifactsController {
  constructor(private readonly artifacts: ArtifactsService) {}

  @ApiOperation({ summary: 'What a task produced, oldest first.' })
  @ApiOkResponse({ type: ArtifactsAnswer })
  @Scopes('tasks:read')
  @Get('tasks/:id/artifacts')
  async list(
    @Param('id') id: string,
    @Query(QueryPipe) query: PageQuery,
    @CurrentCaller() caller: Caller,
  ): Promise<ArtifactsAnswer> {
    return encodeArtifacts(await this.artifacts.list(caller, id, decodePage(query)));
  }

  @ApiOperation({ summary: 'One artifact, with a link to its bytes.' })
  @ApiOkResponse({ type: ArtifactAnswer })
  @Scopes('tasks:read')
  @Get('tasks/:id/artifacts/:aid')
  async get(
    @Param('id') id: string,
    @Param('aid') artifactId: string,
    @CurrentCaller() caller: Caller,
  ): Promise<ArtifactAnswer> {
    return encodeArtifact(await this.artifacts.get(caller, id, artifactId));
  }

  @ApiOperation({ summary: 'The bytes behind a signed link, all of them or one range.' })
  @ApiHeader({ name: 'Range', required: false })
  @ApiHeader({ name: 'If-Range', description: 'The `ETag` of an earlier answer.', required: false })
  @ApiHeader({ name: 'If-None-Match', required: false })
  @ApiOkResponse({ content: BINARY })
  @ApiResponse({ status: 206, description: 'The range.', content: BINARY })
  @Public()
  @Get('artifacts/:aid/content')
  async content(
    @Param('aid') artifactId: string,
    @Query(QueryPipe) { exp = '', sig = '' }: LinkQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { method, path } = request;
    return sendContent(request, response, await this.artifacts.open({ method, path, artifactId, exp, sig }));
  }
}
