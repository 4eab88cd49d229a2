import { Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiOkResponse, ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import {
  type Artifact,
  decodePage,
  encodeArtifact,
  encodePagination,
  offsetOf,
  type Pagination,
} from '#lib/protocol/agent-protocol';
import { ArtifactsService } from '../core/artifacts.service.js';
import type { Caller } from '../core/caller.js';
import { TaskFilesService } from '../core/task-files.service.js';
import { TaskRecordsService } from '../core/task-records.service.js';
import { TasksService } from '../core/tasks.service.js';
import { sendContent } from '../http/content.js';
import { requestIdOf } from '../http/exchange.js';
import { announcedBytes, letPass } from '../http/raw-body.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { ARTIFACT, CURRENT_PAGE, PAGE_SIZE, pageOf, UPLOAD } from './agent-protocol.schema.js';
import { UploadForm } from './upload.form.js';

const BINARY = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };

@ApiTags('agent protocol')
@Controller('ap/v1/agent/tasks/:id/artifacts')
export class ArtifactsController {
  constructor(
    private readonly tasks: TasksService,
    private readonly records: TaskRecordsService,
    private readonly artifacts: ArtifactsService,
    private readonly files: TaskFilesService,
  ) {}

  @ApiOperation({ summary: 'The artifacts of a task, oldest first.' })
  @ApiQuery(CURRENT_PAGE)
  @ApiQuery(PAGE_SIZE)
  @ApiOkResponse({ schema: pageOf('artifacts', ARTIFACT) })
  @Scopes('tasks:read')
  @Get()
  async list(
    @Param('id') id: string,
    @Query() query: Readonly<Record<string, unknown>>,
    @CurrentCaller() caller: Caller,
  ): Promise<{ readonly artifacts: readonly Artifact[]; readonly pagination: Pagination }> {
    const page = decodePage(query);
    const { taskKey } = await this.tasks.snapshot(caller, id);
    const window = { offset: offsetOf(page), limit: page.pageSize };
    const { items, total } = await this.records.artifacts(taskKey, window);
    return { artifacts: items.map(encodeArtifact), pagination: encodePagination(page, total) };
  }

  @ApiOperation({ summary: 'Give a file to a task; runs that begin later get it with their input.' })
  @ApiConsumes('multipart/form-data')
  @ApiBody({ schema: UPLOAD })
  @ApiOkResponse({ schema: ARTIFACT })
  @Scopes('tasks:submit')
  @HttpCode(200)
  @Post()
  async upload(
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Artifact> {
    let form: UploadForm | undefined;
    try {
      const task = await this.files.expect(caller, id);
      form = new UploadForm(request);
      const part = await form.file();
      const rest = { rest: () => form!.rest(), announcedBytes: announcedBytes(request) };
      return encodeArtifact(
        await this.files.give(caller, task, { ...part, ...rest, requestId: requestIdOf(response) }),
      );
    } catch (error) {
      form?.close();
      letPass(request);
      throw error;
    }
  }

  @ApiOperation({ summary: 'The bytes of an artifact, all of them or one range.' })
  @ApiOkResponse({ content: BINARY })
  @Scopes('tasks:read')
  @Get(':artifactId')
  async download(
    @Param('id') id: string,
    @Param('artifactId') artifactId: string,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const content = await this.artifacts.content(caller, id, artifactId);
    const headers = { ...content.headers, 'Content-Type': 'application/octet-stream' };
    return sendContent(request, response, { ...content, headers });
  }
}
