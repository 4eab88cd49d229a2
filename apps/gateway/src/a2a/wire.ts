import type { Request } from 'express';
import type { DomainError } from '#lib/domain';
import { encodeRestError, encodeRestError03, encodeRpcError } from '#lib/protocol/a2a';
import { pathOf } from '../http/denial.js';
import type { WireError } from '../http/error.wires.js';

/** Media types of HTTP+JSON. */
export const REST_TYPE = 'application/a2a+json; charset=utf-8';
export const REST_TYPE_03 = 'application/json; charset=utf-8';

/** What an answer to a request in JSON-RPC has to repeat, and how it is awaited. */
export interface RpcHead {
  readonly id: unknown;
  /** Its client reads nothing but events, errors too. */
  readonly isEventsOnly: boolean;
}

const HEADS = new WeakMap<Request, RpcHead>();

/** Keeps with a request what its errors need as well. */
export function bindRpcHead(request: Request, head: RpcHead): void {
  HEADS.set(request, head);
}

/** Spells errors under `/a2a` as the binding and the version of the request have it. */
export function encodeA2aError(error: DomainError, request: Request): WireError {
  const path = pathOf(request);
  if (/\/jsonrpc\/?$/.test(path)) return encodeRpc(error, HEADS.get(request));
  const isOld = /^\/a2a\/[^/]+\/rest\/v1\//.test(path);
  const { http, body } = isOld ? encodeRestError03(error) : encodeRestError(error);
  return { status: http, type: isOld ? REST_TYPE_03 : REST_TYPE, body: JSON.stringify(body) };
}

function encodeRpc(error: DomainError, head: RpcHead | undefined): WireError {
  const { http, body } = encodeRpcError(error, head?.id);
  const text = JSON.stringify(body);
  if (http !== 200 || !head?.isEventsOnly) return { status: http, type: REST_TYPE_03, body: text };
  return { status: 200, type: 'text/event-stream', body: `event: error\ndata: ${text}\n\n` };
}
