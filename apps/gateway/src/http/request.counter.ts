import type { ServerResponse } from 'node:http';
import type { Metrics } from '#lib/domain';
import type { Request } from 'express';
import { letPass } from './raw-body.js';

/** The label of a request that no route took: its path is the caller's and must not become one. */
const NO_ROUTE = 'none';

/**
 * Counts a request when its answer is over, however it ends, and sees to it that what nobody has read of its body cannot
 * keep its connection. Event streams last as long as their task and are not timed. */
export function countRequest(metrics: Metrics, response: ServerResponse): void {
  const startedMs = performance.now();
  response.on('close', () => {
    const request = response.req as Request;
    letPass(request);
    const { method } = request;
    const route = (request.route as { readonly path: string } | undefined)?.path ?? NO_ROUTE;
    metrics.count('switchyard_http_requests_total', { method, route, status: String(response.statusCode) });
    if (String(response.getHeader('content-type')).startsWith('text/event-stream')) return;
    const seconds = (performance.now() - startedMs) / 1_000;
    metrics.observe('switchyard_http_request_seconds', { method, route }, seconds);
  });
}
