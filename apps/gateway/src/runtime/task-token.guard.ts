import type { IncomingMessage } from 'node:http';
import { applyDecorators, createParamDecorator, Injectable, SetMetadata, UseGuards } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';
import type { Response } from 'express';
import type { TaskTokenScope } from '#lib/domain';
import type { Caller } from '../core/caller.js';
import { Quotas } from '../core/quotas.js';
import { type LiveGrant, TaskTokenAuthenticator } from '../core/task-token.authenticator.js';
import { credentialOf } from '../http/auth.guard.js';
import { requestIdOf } from '../http/exchange.js';
import { announceLimit } from '../http/rate-limit.js';
import { TASK_TOKEN_EXTENSION } from '../http/openapi.js';
import { Public, recordsOwnDenials } from '../http/scopes.decorator.js';

const USE = Symbol('use');
const GRANT = Symbol('grant');

interface Use {
  readonly scope: TaskTokenScope;
  readonly action: string;
}

/** Lets a request through when its credential is the task token of a run that lives now. A caller's key is none. */
@Injectable()
export class TaskTokenGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: TaskTokenAuthenticator,
    private readonly quotas: Quotas,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<IncomingMessage & { [GRANT]?: LiveGrant }>();
    const response = http.getResponse<Response>();
    const requestId = requestIdOf(response);
    const use = this.reflector.get<Use>(USE, context.getHandler());
    const credential = credentialOf(request.headers);
    recordsOwnDenials(request);
    request[GRANT] = await this.authenticator.authenticate(credential, { ...use, requestId });
    announceLimit(response, this.quotas.request(asCaller(request[GRANT])));
    return true;
  }
}

/** A run counts for its tenant, and for itself like a key: a key's id has no colon. */
function asCaller({ tenant, principal, taskKey }: LiveGrant): Caller {
  return { tenant, principal, keyId: `task:${taskKey}`, scopes: new Set() };
}

/** The route takes the token of a live run, and no other credential. `action` is what the audit trail calls it. */
export function ForRuns(scope: TaskTokenScope, action: string): MethodDecorator {
  const use: Use = { scope, action };
  return applyDecorators(
    Public(),
    SetMetadata(USE, use),
    UseGuards(TaskTokenGuard),
    ApiExtension(TASK_TOKEN_EXTENSION, scope),
  );
}

/** What the token of the request says. */
export const CurrentGrant = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const grant = context.switchToHttp().getRequest<{ [GRANT]?: LiveGrant }>()[GRANT];
  if (!grant) throw new Error('The route takes no task token.');
  return grant;
});
