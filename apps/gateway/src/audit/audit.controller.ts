import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { AuditService } from '../core/audit.service.js';
import type { Caller } from '../core/caller.js';
import { requestIdOf } from '../http/exchange.js';
import { decodePage } from '../http/page.query.js';
import { QueryPipe } from '../http/query.pipe.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import {
  AuditHeadsAnswer,
  AuditKeysAnswer,
  AuditProofAnswer,
  AuditRecordsAnswer,
  ConsistencyAnswer,
} from './audit.answers.js';
import { ConsistencyQuery, ExportAuditQuery, HeadsQuery, ProveAuditQuery, SearchAuditQuery } from './audit.dto.js';
import { decodeFilter, encodeCsv, encodeJsonl, encodeProof, encodeRecords, hex } from './audit.mapping.js';

const FORMS = {
  jsonl: { type: 'application/jsonl; charset=utf-8', encode: encodeJsonl },
  csv: { type: 'text/csv; charset=utf-8; header=present', encode: encodeCsv },
} as const;

@ApiTags('audit')
@Scopes('audit:read')
@Controller('v1/audit')
export class AuditController {
  constructor(private readonly audit: AuditService) {}

  @ApiOperation({ summary: 'Search the audit trail, newest first.' })
  @ApiOkResponse({ type: AuditRecordsAnswer })
  @Scopes('audit:read')
  @Get()
  async search(
    @Query(QueryPipe) query: SearchAuditQuery,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AuditRecordsAnswer> {
    const ask = { filter: decodeFilter(query), requestId: requestIdOf(response) };
    return encodeRecords(await this.audit.search(caller, ask, decodePage(query)));
  }

  @ApiOperation({ summary: 'Export sealed records in their order, with what proves them.' })
  @ApiOkResponse({
    content: { 'application/jsonl': { schema: { type: 'string' } }, 'text/csv': { schema: { type: 'string' } } },
  })
  @Scopes('audit:read')
  @Get('export')
  async export(
    @Query(QueryPipe) query: ExportAuditQuery,
    @CurrentCaller() caller: Caller,
    @Res() response: Response,
  ): Promise<void> {
    const { format = 'jsonl' } = query;
    const { type, encode } = FORMS[format];
    const ask = { filter: decodeFilter(query), requestId: requestIdOf(response) };
    const lines = await this.audit.export(caller, ask, format);
    response.set({ 'Content-Type': type, 'Content-Disposition': `attachment; filename="audit.${format}"` });
    // A client that leaves, and a database that does, end what has begun: there is no last line then.
    await pipeline(Readable.from(encode(lines)), response).catch(() => undefined);
  }

  @ApiOperation({ summary: 'Signed heads of the tree, oldest first.' })
  @ApiOkResponse({ type: AuditHeadsAnswer })
  @Scopes('audit:read')
  @Get('heads')
  async heads(@Query(QueryPipe) { after = 0, limit = 100 }: HeadsQuery): Promise<AuditHeadsAnswer> {
    return { heads: [...(await this.audit.heads(after, limit))] };
  }

  @ApiOperation({ summary: 'Prove that the tree has only grown.' })
  @ApiOkResponse({ type: ConsistencyAnswer })
  @Scopes('audit:read')
  @Get('consistency')
  async consistency(@Query(QueryPipe) { first, second }: ConsistencyQuery): Promise<ConsistencyAnswer> {
    return { first, second, proof: (await this.audit.consistency(first, second)).map(hex) };
  }

  @ApiOperation({ summary: 'The public keys that sign heads, and those that did.' })
  @ApiOkResponse({ type: AuditKeysAnswer })
  @Scopes('audit:read')
  @Get('keys')
  async keys(): Promise<AuditKeysAnswer> {
    return { keys: (await this.audit.keys()).map(({ kid, publicKey }) => ({ kid, public_key: publicKey })) };
  }

  @ApiOperation({ summary: 'Prove that a record is in the tree.' })
  @ApiOkResponse({ type: AuditProofAnswer })
  @Scopes('audit:read')
  @Get(':id/proof')
  async prove(
    @Param('id') id: string,
    @Query(QueryPipe) { size }: ProveAuditQuery,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AuditProofAnswer> {
    const ask = { requestId: requestIdOf(response), ...(size !== undefined && { size }) };
    return encodeProof(await this.audit.prove(caller, id, ask));
  }
}
