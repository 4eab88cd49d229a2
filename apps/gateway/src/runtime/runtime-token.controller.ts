import { Controller, Header, HttpCode, Post, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { type Asker, RunTokensService } from '../core/run-tokens.service.js';
import type { LiveGrant } from '../core/task-token.authenticator.js';
import { requestIdOf } from '../http/exchange.js';
import { FormOrJsonBody } from '../http/json-body.decorator.js';
import { CurrentAsker, ForAskers } from './introspection.guard.js';
import { IntrospectBody, IntrospectionAnswer, RenewedAnswer } from './runtime.dto.js';
import { encodeIntrospection, encodeRenewed } from './runtime.mapping.js';
import { CurrentGrant, ForRuns } from './task-token.guard.js';

@ApiTags('runtime')
@Controller('v1/runtime')
export class RuntimeTokenController {
  constructor(private readonly tokens: RunTokensService) {}

  @ApiOperation({ summary: 'Another token of the same rights, while the run lives.' })
  @ApiOkResponse({ type: RenewedAnswer })
  @ForRuns('runtime:token', 'token.renew')
  @Header('Cache-Control', 'no-store')
  @HttpCode(200)
  @Post('token\\:renew')
  async renew(
    @CurrentGrant() grant: LiveGrant,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RenewedAnswer> {
    return encodeRenewed(await this.tokens.renew(grant, requestIdOf(response)), Date.now());
  }

  @ApiOperation({
    summary: 'What a task token is worth now (RFC 7662): for keys with `tools:read`, and for the run itself.',
  })
  @ApiOkResponse({ type: IntrospectionAnswer })
  @ForAskers()
  @Header('Cache-Control', 'no-store')
  @HttpCode(200)
  @Post('token\\:introspect')
  async introspect(
    @FormOrJsonBody(IntrospectBody) { token }: IntrospectBody,
    @CurrentAsker() asker: Asker,
  ): Promise<IntrospectionAnswer> {
    return encodeIntrospection(await this.tokens.introspect(token, asker));
  }
}
