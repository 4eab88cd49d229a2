import { applyDecorators, createParamDecorator, Injectable, UseGuards } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { DomainError, type Scope, TaskTokens } from '#lib/domain';
import { Authenticator } from '../core/authenticator.js';
import { Quotas } from '../core/quotas.js';
import type { Asker } from '../core/run-tokens.service.js';
import { TaskTokenAuthenticator } from '../core/task-token.authenticator.js';
import { credentialOf } from '../http/auth.guard.js';
import { requestIdOf } from '../http/exchange.js';
import { announceLimit } from '../http/rate-limit.js';
import { TASK_TOKEN_EXTENSION } from '../http/openapi.js';
import { bindCaller, Public, recordsOwnDenials } from '../http/scopes.decorator.js';

const ASKER = Symbol('asker');
/** Whoever runs tools for us may look at their list, and at the tokens they are called with. */
const SCOPE: Scope = 'tools:read';

/** Lets a request through that comes with a caller's credential of the scope `tools:read`, or a run's own token. */
@Injectable()
export class IntrospectionGuard implements CanActivate {
  constructor(
    private readonly tokens: TaskTokens,
    private readonly runs: TaskTokenAuthenticator,
    private readonly callers: Authenticator,
    private readonly quotas: Quotas,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request & { [ASKER]?: Asker }>();
    const credential = credentialOf(request.headers);
    if (this.tokens.claimsToBe(credential)) {
      recordsOwnDenials(request);
      request[ASKER] = { kind: 'run', grant: await this.grant(credential, requestIdOf(http.getResponse<Response>())) };
      return true;
    }
    const caller = await this.callers.authenticate(credential, () => request.ip ?? '');
    bindCaller(request, caller);
    announceLimit(http.getResponse<Response>(), this.quotas.request(caller));
    if (!caller.scopes.has(SCOPE)) throw new DomainError('forbidden', `The credentials lack the scope ${SCOPE}.`);
    request[ASKER] = { kind: 'caller', caller };
    return true;
  }

  private grant(credential: string, requestId: string): ReturnType<TaskTokenAuthenticator['authenticate']> {
    return this.runs.authenticate(credential, { scope: 'runtime:token', action: 'token.introspect', requestId });
  }
}

/** The route is for those who are given tokens, and for runs that ask about their own. */
export function ForAskers(): MethodDecorator {
  return applyDecorators(
    Public(),
    UseGuards(IntrospectionGuard),
    ApiExtension(TASK_TOKEN_EXTENSION, { orScopes: [SCOPE] }),
  );
}

export const CurrentAsker = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const asker = context.switchToHttp().getRequest<{ [ASKER]?: Asker }>()[ASKER];
  if (!asker) throw new Error('The route takes no questions about tokens.');
  return asker;
});
