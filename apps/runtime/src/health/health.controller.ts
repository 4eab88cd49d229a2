import { Readiness } from '#lib/platform';
import { Controller, Get, Header, Res } from '@nestjs/common';
import type { ServerResponse } from 'node:http';

/** For those who start and stop processes. */
@Controller('health')
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  /** The process runs and its event loop turns. */
  @Get('live')
  @Header('Cache-Control', 'no-store')
  live(): object {
    return { status: 'live' };
  }

  /** Runs are taken now. */
  @Get('ready')
  @Header('Cache-Control', 'no-store')
  async ready(@Res({ passthrough: true }) response: ServerResponse): Promise<object> {
    const { missing, degraded } = await this.readiness.check();
    if (missing.length === 0) return { status: 'ready', ...(degraded.length > 0 ? { degraded } : {}) };
    response.statusCode = 503;
    return { status: 'not_ready', missing };
  }
}
