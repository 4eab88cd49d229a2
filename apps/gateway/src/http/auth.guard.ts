import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { DomainError } from '#lib/domain';
import type { Scope } from '#lib/domain';
import { Authenticator } from '../core/authenticator.js';
import { assertScopes } from '../core/caller.js';
import type { Quotas } from '../core/quotas.js';
import { announceLimit } from './rate-limit.js';
import { bindCaller, bindHandler, SCOPES_KEY } from './scopes.decorator.js';

const BEARER = /^Bearer +(\S+)$/i;

/** Lets a request through when its credential has every scope the route asks for. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: Authenticator,
    private readonly quotas?: Quotas,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const needed = scopesOf(this.reflector, context.getHandler(), context.getClass());
    if (needed === undefined) throw new Error('The route declares no scopes.');
    const request = context.switchToHttp().getRequest<Request>();
    bindHandler(request, context.getHandler());
    if (needed.length === 0) return true;
    const caller = await this.authenticator.authenticate(credentialOf(request.headers), () => request.ip ?? '');
    bindCaller(request, caller);
    // Before anything else is looked at: what is refused must cost little.
    announceLimit(context.switchToHttp().getResponse<Response>(), this.quotas?.request(caller));
    assertScopes(caller, ...needed);
    return true;
  }
}

/** The scopes declared on a method, else on its class. */
export function scopesOf(
  reflector: Reflector,
  ...targets: Parameters<Reflector['get']>[1][]
): readonly Scope[] | undefined {
  return reflector.getAllAndOverride<readonly Scope[] | undefined>(SCOPES_KEY, targets);
}

/** The key or token of a request, from either of the two headers that may carry it. */
export function credentialOf(headers: IncomingHttpHeaders): string {
  const bearer = headers.authorization === undefined ? undefined : BEARER.exec(headers.authorization)?.[1];
  const key = headers['x-api-key'];
  if (headers.authorization !== undefined && bearer === undefined)
    throw unauthenticated('The Authorization header is not "Bearer <key>".');
  if (bearer !== undefined && key !== undefined && bearer !== key)
    throw unauthenticated('Authorization and X-API-Key differ.');
  const credential = bearer ?? key;
  if (typeof credential !== 'string' || credential === '')
    throw unauthenticated('A key is needed: Authorization: Bearer <key>.');
  return credential;
}

function unauthenticated(message: string): DomainError {
  return new DomainError('unauthenticated', message);
}
