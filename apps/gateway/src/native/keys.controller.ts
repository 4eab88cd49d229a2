import { Controller, Delete, Get, Header, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import type { Caller } from '../core/caller.js';
import { KeysService } from '../core/keys.service.js';
import { requestIdOf } from '../http/exchange.js';
import { JsonBody } from '../http/json-body.decorator.js';
import type { JsonDocument } from '../http/json-document.js';
import { QueryPipe } from '../http/query.pipe.js';
import { CurrentCaller, Scopes } from '../http/scopes.decorator.js';
import { decodePage } from '../http/page.query.js';
import {
  CreateKeyBody,
  DEFAULT_OVERLAP_SECONDS,
  KeyAnswer,
  KeysAnswer,
  ListKeysQuery,
  NewKeyAnswer,
  RotateKeyBody,
} from './keys.dto.js';
import { decodeKeyWish, encodeKey, encodeKeys, encodeShownKey } from './keys.mapping.js';

@ApiTags('keys')
@Controller('v1/keys')
export class KeysController {
  constructor(private readonly keys: KeysService) {}

  @ApiOperation({ summary: 'The API keys of a tenant, oldest first.' })
  @ApiOkResponse({ type: KeysAnswer })
  @Scopes('keys:read')
  @Get()
  async list(@Query(QueryPipe) query: ListKeysQuery, @CurrentCaller() caller: Caller): Promise<KeysAnswer> {
    const { tenant, principal } = query;
    return encodeKeys(await this.keys.list(caller, { tenant, principal }, decodePage(query)));
  }

  @ApiOperation({ summary: 'One API key.' })
  @ApiOkResponse({ type: KeyAnswer })
  @Scopes('keys:read')
  @Get(':id')
  async get(@Param('id') id: string, @CurrentCaller() caller: Caller): Promise<KeyAnswer> {
    return encodeKey(await this.keys.get(caller, id));
  }

  @ApiOperation({ summary: 'Make an API key; the answer shows it, and nothing does again.' })
  @ApiResponse({ status: 201, type: NewKeyAnswer, headers: { Location: { schema: { type: 'string' } } } })
  @Scopes('keys:write')
  @HttpCode(201)
  @Header('Cache-Control', 'no-store')
  @Post()
  async create(
    @JsonBody(CreateKeyBody) { value: body }: JsonDocument<CreateKeyBody>,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<NewKeyAnswer> {
    const shown = await this.keys.create(caller, decodeKeyWish(body, requestIdOf(response)));
    response.setHeader('Location', `/v1/keys/${shown.key.id}`);
    return encodeShownKey(shown);
  }

  @ApiOperation({ summary: 'Give an API key a new secret; for some time the one before works as well.' })
  @ApiOkResponse({ type: NewKeyAnswer })
  @Scopes('keys:write')
  @HttpCode(200)
  @Header('Cache-Control', 'no-store')
  @Post(':id/rotate')
  async rotate(
    @Param('id') id: string,
    @JsonBody(RotateKeyBody, { isOptional: true }) { value: body }: JsonDocument<RotateKeyBody>,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<NewKeyAnswer> {
    const overlapMs = (body.overlap_seconds ?? DEFAULT_OVERLAP_SECONDS) * 1000;
    return encodeShownKey(await this.keys.rotate(caller, { id, overlapMs, requestId: requestIdOf(response) }));
  }

  @ApiOperation({ summary: 'Revoke an API key: within 5 s nothing takes it any more.' })
  @ApiOkResponse({ type: KeyAnswer })
  @Scopes('keys:write')
  @Delete(':id')
  async revoke(
    @Param('id') id: string,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) response: Response,
  ): Promise<KeyAnswer> {
    return encodeKey(await this.keys.revoke(caller, { id, requestId: requestIdOf(response) }));
  }
}
