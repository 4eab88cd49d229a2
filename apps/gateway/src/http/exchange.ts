import type { Request, Response } from 'express';
import { DomainError } from '#lib/domain';

/** The id of this request, as the caller sees it. */
export function requestIdOf(response: Response): string {
  return String(response.getHeader('x-request-id'));
}

/** Why work for a request stops: one for all, since a client that leaves is nobody's fault and needs no stack. */
const CLIENT_GONE = new DOMException('The client is gone.', 'AbortError');

/** Aborts when the client leaves before it has its answer. */
export function leftSignal(response: Response): AbortSignal {
  const controller = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) controller.abort(CLIENT_GONE);
  });
  return controller.signal;
}

/**
 * The media type to answer with; the first offer when the request does not care.
 *
 * @throws DomainError `not_acceptable`
 */
export function negotiate<T extends string>(request: Request, offers: readonly [T, ...T[]]): T {
  const accept = request.headers.accept;
  if (accept === undefined || accept === '*/*') return offers[0];
  const best = offers.find((offer) => offer === accept) ?? request.accepts([...offers]);
  if (best === false) {
    const faults = [{ path: 'header.accept', code: 'is_in', message: `must admit ${offers.join(' or ')}` }];
    throw new DomainError('not_acceptable', `Here is only ${offers.join(' or ')}.`, { faults });
  }
  return best as T;
}

/** Sends JSON text that is ready. */
export function sendJson(response: Response, status: number, text: string): void {
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.end(text);
}
