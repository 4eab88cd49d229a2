import { Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiHeader, ApiOkResponse, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { Caller } from '../core/caller.js';
import { UploadsService } from '../core/uploads.service.js';
import { requestIdOf } from '../http/exchange.js';
import { QueryPipe } from '../http/query.pipe.js';
import { letPass } from '../http/raw-body.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { decodePage, PageQuery } from '../http/page.query.js';
import { ArtifactAnswer, ArtifactsAnswer } from './answer.dto.js';
import { artifactPath, encodeArtifact, encodeArtifacts } from './artifacts.mapping.js';
import { UploadQuery } from './query.dto.js';
import { decodeUpload } from './uploads.mapping.js';

@ApiTags('artifacts')
@Controller('v1/artifacts')
export class UploadsController {
  constructor(private readonly uploads: UploadsService) {}

  @ApiOperation({ summary: 'Upload a file for use in the input of tasks.' })
  @ApiConsumes('application/octet-stream')
  @ApiBody({ required: true, schema: { type: 'string', format: 'binary' } })
  @ApiHeader({ name: 'Content-Disposition', description: 'May carry the name of the file.', required: false })
  @ApiHeader({ name: 'X-SHA256', description: 'In hex; what arrives must have it.', required: false })
  @ApiHeader({ name: 'Content-Digest', description: 'The same, as of RFC 9530.', required: false })
  @ApiResponse({ status: 201, type: ArtifactAnswer, headers: { Location: { schema: { type: 'string' } } } })
  @Scopes('tasks:submit')
  @HttpCode(201)
  @Post()
  async upload(
    @Query(QueryPipe) query: UploadQuery,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ArtifactAnswer> {
    try {
      const upload = decodeUpload(request, query, this.uploads.maxBytes);
      const artifact = await this.uploads.upload(caller, { ...upload, requestId: requestIdOf(response) });
      response.setHeader('Location', artifactPath(artifact));
      return encodeArtifact(artifact);
    } catch (error) {
      letPass(request);
      throw error;
    }
  }

  @ApiOperation({ summary: 'What was uploaded, oldest first.' })
  @ApiOkResponse({ type: ArtifactsAnswer })
  @Scopes('tasks:read')
  @Get()
  async list(@Query(QueryPipe) query: PageQuery, @CurrentCaller() caller: Caller): Promise<ArtifactsAnswer> {
    return encodeArtifacts(await this.uploads.list(caller, decodePage(query)));
  }

  @ApiOperation({ summary: 'An upload, or an artifact of a task, with a link to its bytes.' })
  @ApiOkResponse({ type: ArtifactAnswer })
  @Scopes('tasks:read')
  @Get(':aid')
  async get(@Param('aid') artifactId: string, @CurrentCaller() caller: Caller): Promise<ArtifactAnswer> {
    return encodeArtifact(await this.uploads.get(caller, artifactId));
  }
}
