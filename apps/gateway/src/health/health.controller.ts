import { Readiness } from '#lib/platform';
import { Controller, Get, Header, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '../http/scopes.decorator.js';

/** For those who start and stop processes. */
@ApiExcludeController()
@Public()
@Controller('health')
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  /** The process runs and its event loop turns. */
  @Get('live')
  @Header('Cache-Control', 'no-store')
  live(): object {
    return { status: 'live' };
  }

  /** Requests can be served now. */
  @Get('ready')
  @Header('Cache-Control', 'no-store')
  async ready(@Res({ passthrough: true }) response: Response): Promise<object> {
    const { missing, degraded, notes } = await this.readiness.check();
    if (missing.length === 0) {
      return { status: 'ready', ...(degraded.length > 0 && { degraded }), ...(notes.length > 0 && { notes }) };
    }
    response.status(503);
    return { status: 'not_ready', missing };
  }
}
