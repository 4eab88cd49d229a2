import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiDefaultResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ArtifactsService, type LinkedArtifact } from '../core/artifacts.service.js';
import type { Caller } from '../core/caller.js';
import { decodePage, PageQuery } from '../http/page.query.js';
import { QueryPipe } from '../http/query.pipe.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { ARTIFACT_SCHEMA, ARTIFACTS_SCHEMA, ERROR_SCHEMA } from './tasks.schemas.js';

/** Beside AgentScope's contract, which promises files and has no way to them. */
@ApiTags('agentscope')
@ApiDefaultResponse({ schema: ERROR_SCHEMA, description: 'Any error.' })
@Scopes('tasks:read')
@Controller('tasks/:id/artifacts')
export class AgentScopeArtifactsController {
  constructor(private readonly artifacts: ArtifactsService) {}

  @ApiOperation({ summary: 'What a task produced, oldest first.' })
  @ApiOkResponse({ schema: ARTIFACTS_SCHEMA })
  @Get()
  async list(
    @Param('id') id: string,
    @Query(QueryPipe) query: PageQuery,
    @CurrentCaller() caller: Caller,
  ): Promise<object> {
    const { items, nextCursor } = await this.artifacts.list(caller, id, decodePage(query));
    return { artifacts: items.map(encodeArtifact), next_cursor: nextCursor ?? null };
  }

  @ApiOperation({ summary: 'One artifact, with a link to its bytes.' })
  @ApiOkResponse({ schema: ARTIFACT_SCHEMA })
  @Get(':aid')
  async get(
    @Param('id') id: string,
    @Param('aid') artifactId: string,
    @CurrentCaller() caller: Caller,
  ): Promise<object> {
    return encodeArtifact(await this.artifacts.get(caller, id, artifactId));
  }
}

function encodeArtifact(artifact: LinkedArtifact): object {
  const { artifact_id, step_id, kind, name, media_type, size, sha256 } = artifact;
  return {
    ...{ artifact_id, step_id, kind, name, media_type, size, sha256 },
    created_at: new Date(artifact.createdAtMs).toISOString(),
    download_url: artifact.downloadUrl,
    download_expires_at: new Date(artifact.downloadExpiresAtMs).toISOString(),
  };
}
