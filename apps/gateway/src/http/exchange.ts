import type { ServerResponse } from 'node:http';
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
  onOver(response, () => {
    if (!response.writableFinished) controller.abort(CLIENT_GONE);
  });
  return controller.signal;
}

/** Calls `listener` once, when the response is finished or can no longer reach its client. */
export function onOver(response: ServerResponse, listener: () => void): void {
  const { socket } = response.req;
  const over = (): void => {
    response.off('close', over);
    socket.off('close', over);
    listener();
  };
  response.on('close', over);
  // A pipelined response that waits for the one before it has no connection yet, and is not told when that closes.
  if (response.socket !== null) return;
  // A client may have any number of these.
  socket.setMaxListeners(0).on('close', over);
  if (socket.destroyed) process.nextTick(over);
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
