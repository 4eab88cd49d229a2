import type { Request, Response } from 'express';
import { DomainError } from '#lib/domain';

/** The id of this request, as the caller sees it. */
export function requestIdOf(response: Response): string {
  return String(response.getHeader('x-request-id'));
}

/** Aborts when the client is gone, or the answer has been sent. */
export function closedSignal(response: Response): AbortSignal {
  const controller = new AbortController();
  response.on('close', () => controller.abort());
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
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' }).end(text);
}
