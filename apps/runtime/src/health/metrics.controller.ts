import { PromMetrics } from '#lib/platform';
import { Controller, Get, Res } from '@nestjs/common';
import type { ServerResponse } from 'node:http';

/** For those who watch processes. Like health it asks for no key: the port is for the inside of an installation. */
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: PromMetrics) {}

  @Get()
  async page(@Res() response: ServerResponse): Promise<void> {
    const { contentType, text } = await this.metrics.page();
    response.setHeader('Content-Type', contentType);
    response.setHeader('Cache-Control', 'no-store');
    response.end(text);
  }
}
