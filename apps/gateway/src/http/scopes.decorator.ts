import { applyDecorators, createParamDecorator, SetMetadata } from '@nestjs/common';
import type { CustomDecorator, ExecutionContext } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import type { Scope } from '#lib/domain';
import type { Caller } from '../core/caller.js';
import { SCOPES_EXTENSION } from './openapi.js';

/** Metadata of a route: the scopes it asks for, none when it is public. A route without it does not boot. */
export const SCOPES_KEY = Symbol('scopes');

const CALLER = Symbol('caller');
const HANDLER = Symbol('handler');
const OWN_DENIALS = Symbol('own denials');

/** The caller needs every one of these scopes. */
export function Scopes(...scopes: [Scope, ...Scope[]]): ClassDecorator & MethodDecorator {
  return applyDecorators(SetMetadata(SCOPES_KEY, scopes), ApiExtension(SCOPES_EXTENSION, scopes));
}

/** No credential is asked for, or the route checks one of its own. */
export function Public(): CustomDecorator<symbol> {
  return SetMetadata(SCOPES_KEY, []);
}

/** Keeps the caller with its request. */
export function bindCaller(request: object, caller: Caller): void {
  (request as { [CALLER]?: Caller })[CALLER] = caller;
}

/** Whoever sent the request, as far as that is known. */
export function findCaller(request: object): Caller | undefined {
  return (request as { [CALLER]?: Caller })[CALLER];
}

/** Keeps the method that serves a request with it. */
export function bindHandler(request: object, handler: { readonly name: string }): void {
  (request as { [HANDLER]?: { readonly name: string } })[HANDLER] = handler;
}

/** The name of that method. */
export function handlerNameOf(request: object): string {
  return (request as { [HANDLER]?: { readonly name: string } })[HANDLER]?.name ?? '';
}

/** Whoever serves the request records by itself what it denies. */
export function recordsOwnDenials(request: object): void {
  (request as { [OWN_DENIALS]?: true })[OWN_DENIALS] = true;
}

/** True when nobody else is to record what is denied. */
export function hasOwnDenials(request: object): boolean {
  return OWN_DENIALS in request;
}

/** The caller that the guard let through; a public route has none. */
export function callerOf(request: object): Caller {
  const caller = findCaller(request);
  if (caller === undefined) throw new Error('A public route has no caller.');
  return caller;
}

/** The caller of the route, as a parameter. */
export const CurrentCaller = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  callerOf(context.switchToHttp().getRequest<object>()),
);
