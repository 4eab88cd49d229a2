import { AgentCard } from '@a2a-js/sdk';
import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import { AgentDirectory } from '../core/agent.directory.js';
import { isVisibleTo } from '#lib/domain';
import type { Caller } from '../core/caller.js';
import { sendJson } from '../http/exchange.js';
import { CurrentCaller, Public, Scopes } from '../http/scopes.decorator.js';
import { spokenVersion } from './calls.js';
import { Cards, encodeCard03 } from './cards.js';

/** How long a card may be kept, in seconds: what an operator changes is seen before long. */
const MAX_AGE = 60;

const CARD = { schema: { type: 'object', additionalProperties: true } } as const;

@ApiTags('a2a')
@Controller()
export class CardsController {
  constructor(
    private readonly cards: Cards,
    private readonly directory: AgentDirectory,
  ) {}

  @ApiOperation({ summary: 'The card of the default agent.' })
  @ApiHeader({ name: 'A2A-Version', required: false, description: '`1.0`; without it the card is one of 0.3 as well.' })
  @ApiOkResponse(CARD)
  @Public()
  @Get('.well-known/agent-card.json')
  root(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.send(this.cards.open(undefined), request, response);
  }

  @ApiOperation({ summary: 'The card of an agent.' })
  @ApiHeader({ name: 'A2A-Version', required: false, description: '`1.0`; without it the card is one of 0.3 as well.' })
  @ApiOkResponse(CARD)
  @Public()
  @Get('a2a/:agent/.well-known/agent-card.json')
  card(@Param('agent') agent: string, @Req() request: Request, @Res() response: Response): Promise<void> {
    return this.send(this.cards.open(agent), request, response);
  }

  @ApiOperation({ summary: 'The agents you may use, and where their cards are.' })
  @ApiOkResponse(CARD)
  @Scopes('agents:read')
  @Get('a2a')
  list(@CurrentCaller() { tenant }: Caller): object {
    const agents = this.directory.all().filter((agent) => isVisibleTo(agent, tenant));
    return {
      agents: agents.map(({ id, name, description }) => {
        const base = `/a2a/${encodeURIComponent(id)}`;
        return {
          id,
          name,
          description,
          card: `${base}/.well-known/agent-card.json`,
          extended_card: `${base}/rest/extendedAgentCard`,
        };
      }),
    };
  }

  private async send(card: AgentCard, request: Request, response: Response): Promise<void> {
    const shown = spokenVersion(request) === '1.0' ? AgentCard.toJSON(card) : await encodeCard03(card);
    const text = JSON.stringify(shown);
    const etag = `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`;
    response.setHeader('ETag', etag);
    response.setHeader('Cache-Control', `public, max-age=${MAX_AGE}`);
    response.setHeader('Vary', 'A2A-Version');
    if (request.get('if-none-match')?.includes(etag)) return void response.status(304).end();
    sendJson(response, 200, text);
  }
}
