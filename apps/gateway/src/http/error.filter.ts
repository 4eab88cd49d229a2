import { Catch } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import type { Express, Request, Response } from 'express';
import { DomainError } from '#lib/domain';
import type { AuditTrail, Logger } from '#lib/domain';
import { denialOf, pathOf } from './denial.js';
import type { ErrorWires } from './error.wires.js';
import { errorHeaders, toDomainError } from './problem.js';

/** Turns whatever a request throws into an error of its wire, and records what was denied. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(
    private readonly logger: Logger,
    private readonly audit: Pick<AuditTrail, 'denied'>,
    private readonly wires: ErrorWires,
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<Request>();
    const response = host.switchToHttp().getResponse<Response>();
    if (response.destroyed) return;
    const error = refineMiss(toDomainError(thrown), request, response);
    if (error.code === 'internal') this.report(error, request, response);
    const denial = denialOf(error, request, response);
    if (denial) this.audit.denied(denial);
    // A stream that has begun cannot turn into an error: cutting it tells the client that it is not complete.
    if (response.headersSent) return void response.destroy();
    const { status, type, body } = this.wires.encode(error, request);
    response.status(status).set(errorHeaders(error)).type(type).end(body);
  }

  private report(error: DomainError, request: Request, response: Response): void {
    const fields = { requestId: response.getHeader('x-request-id'), method: request.method, path: pathOf(request) };
    this.logger.error('request failed', { ...fields, error: error.cause ?? error });
  }
}

/** A path that has other methods is there: then the method is what is wrong. */
function refineMiss(error: DomainError, request: Request, response: Response): DomainError {
  if (error.code !== 'not_found' || request.route !== undefined) return error;
  const allowed = methodsOf(request.app as Express, request.path);
  if (allowed.length === 0) return error;
  response.set('Allow', allowed.join(', '));
  return new DomainError('method_not_allowed', `The path takes ${allowed.join(', ')}.`);
}

/** The part of Express's router that the answer to a wrong method needs. */
interface Layer {
  readonly route?: { readonly stack: readonly { readonly method: string }[] };
  match(path: string): boolean;
}

function methodsOf(app: Express, path: string): string[] {
  const methods = new Set<string>();
  for (const layer of app.router.stack as unknown as readonly Layer[]) {
    if (layer.route === undefined || !layer.match(path)) continue;
    for (const { method } of layer.route.stack) methods.add(method.toUpperCase());
  }
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort();
}
