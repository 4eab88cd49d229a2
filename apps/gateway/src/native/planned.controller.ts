import { Controller, Delete, Get, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Scopes } from '../http/scopes.decorator.js';
import { notAvailable } from './submit.mapping.js';

/** Applied to each route, in place of a body. */
function Planned(): MethodDecorator {
  return ApiOperation({ summary: 'Not available yet: answers 422 `not_available`.' });
}

/** Routes of the contract that are not built yet. Who may not call them is still told so first. */
@ApiTags('planned')
@Controller('v1')
export class PlannedController {
  @Planned()
  @Scopes('keys:read')
  @Get('keys')
  listKeys(): never {
    throw notAvailable('', 'Listing keys');
  }

  @Planned()
  @Scopes('keys:write')
  @Post('keys')
  createKey(): never {
    throw notAvailable('', 'Making a key');
  }

  @Planned()
  @Scopes('keys:write')
  @Delete('keys/:id')
  revokeKey(): never {
    throw notAvailable('', 'Revoking a key');
  }
}
