import type { Request, Response } from 'express';
import type { AuditEntry, DomainError, ErrorCode } from '#lib/domain';
import { NOBODY, RefusedCredential } from '../core/authenticator.js';
import { auditOf } from '../core/caller.js';
import { requestIdOf } from './exchange.js';
import { findCaller, handlerNameOf, hasOwnDenials } from './scopes.decorator.js';

/** Errors that say no to somebody. A thing of others is `not_found` to them, so all of those are among them. */
const DENIALS: ReadonlySet<ErrorCode> = new Set(['unauthenticated', 'forbidden', 'not_found', 'rate_limited']);

/** The record of an attempt that ended in this error; undefined when nothing was denied, or no route was met at all. */
export function denialOf(error: DomainError, request: Request, response: Response): AuditEntry | undefined {
  if (!DENIALS.has(error.code) || request.route === undefined || hasOwnDenials(request)) return undefined;
  const caller = findCaller(request);
  const path = pathOf(request);
  const address = request.ip ?? '';
  const asked = { code: error.code, method: request.method, path, address };
  const requestId = requestIdOf(response);
  if (caller) {
    const details = { ...asked, detail: error.message };
    return { ...auditOf(caller, { action: actionOf(request), target: path, details, requestId }), outcome: 'denied' };
  }
  const { reason, subject } = error instanceof RefusedCredential ? error : { reason: error.message, subject: NOBODY };
  // Whoever guesses is told apart by the key they guess at, else by where they are: not by what they make up.
  const target = subject.keyId === '' ? address : subject.keyId;
  const details = JSON.stringify({ ...asked, detail: reason });
  const isCredential = error.code === 'unauthenticated' || error.code === 'rate_limited';
  const action = isCredential ? 'caller.authenticate' : actionOf(request);
  return { ...subjectFields(subject), action, target, outcome: 'denied', details, requestId };
}

/** The path as it was asked for, without its query: that may hold a signature. */
export function pathOf(request: Request): string {
  return request.originalUrl.split('?', 1)[0]!;
}

function subjectFields({ tenant, principal, keyId }: typeof NOBODY): typeof NOBODY {
  return { tenant, principal, keyId };
}

/** `task.cancel`: what the first part of the path is about, and what its handler is called. */
function actionOf(request: Request): string {
  const { path } = request.route as { readonly path: string };
  const [first = '', second = first] = path.split('/').filter(Boolean);
  const noun = first === 'v1' ? second : first;
  return `${noun.replace(/s$/, '')}.${handlerNameOf(request)}`;
}
