import { PromMetrics } from '#lib/platform';
import { Controller, Get, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Scopes } from '../http/scopes.decorator.js';

/** For those who watch processes: each gateway shows its own. */
@ApiTags('operations')
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: PromMetrics) {}

  @ApiOperation({ summary: 'What this gateway has counted, in the text format of Prometheus.' })
  @ApiProduces('text/plain')
  @ApiOkResponse({ schema: { type: 'string' } })
  @Scopes('metrics:read')
  @Get()
  async page(@Res() response: Response): Promise<void> {
    const { contentType, text } = await this.metrics.page();
    response.setHeader('Content-Type', contentType);
    response.setHeader('Cache-Control', 'no-store');
    response.end(text);
  }
}
