import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type JsonWebKeySet, TaskTokens } from '#lib/domain';
import { Public } from '../http/scopes.decorator.js';

/** What verifiers may keep, in seconds: a new key is published for at least as long before it signs. */
const MAX_AGE_SECONDS = 300;

@ApiTags('runtime')
@Controller('.well-known/jwks.json')
export class JwksController {
  constructor(private readonly tokens: TaskTokens) {}

  @ApiOperation({ summary: 'The public keys that task tokens are verified with (RFC 7517).' })
  @ApiOkResponse({ schema: { type: 'object', properties: { keys: { type: 'array', items: { type: 'object' } } } } })
  @Public()
  @Header('Content-Type', 'application/jwk-set+json')
  @Header('Cache-Control', `public, max-age=${MAX_AGE_SECONDS}`)
  @Get()
  keys(): JsonWebKeySet {
    return this.tokens.publicKeys();
  }
}
