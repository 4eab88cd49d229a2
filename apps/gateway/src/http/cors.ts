import type { IncomingMessage, ServerResponse } from 'node:http';

/** What a page of an allowed origin may send. */
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const REQUEST_HEADERS = [
  'Authorization',
  'Content-Type',
  'Content-Digest',
  'Content-Disposition',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'If-Range',
  'Last-Event-ID',
  'Range',
  'X-API-Key',
  'X-API-Mode',
  'X-Request-ID',
  'X-SHA256',
];
/** What it may read besides what browsers always show. */
const ANSWER_HEADERS = [
  'Accept-Ranges',
  'Content-Disposition',
  'Content-Range',
  'ETag',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-ID',
  'X-Should-Retry',
  'X-Task-Id',
].join(', ');
/** How long a browser may keep what it was allowed, in seconds. */
const MAX_AGE = '600';

/**
 * Lets pages of other origins read answers (Fetch standard, 3.2). Exact origins only, and never with credentials the
 * browser adds by itself: who calls proves it with a header the page sets.
 */
export class Cors {
  private readonly origins: ReadonlySet<string>;
  private readonly requestHeaders: string;

  /** `headers`: what pages may send besides. */
  constructor(origins: readonly string[], headers: readonly string[] = []) {
    this.origins = new Set(origins);
    this.requestHeaders = [...REQUEST_HEADERS, ...headers].join(', ');
  }

  /** True when the request was a preflight and is answered. */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.origins.size === 0) return false;
    response.setHeader('Vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !this.origins.has(origin)) return false;
    response.setHeader('Access-Control-Allow-Origin', origin);
    const isPreflight = request.method === 'OPTIONS' && 'access-control-request-method' in request.headers;
    if (!isPreflight) {
      response.setHeader('Access-Control-Expose-Headers', ANSWER_HEADERS);
      return false;
    }
    response.setHeader('Access-Control-Allow-Methods', METHODS);
    response.setHeader('Access-Control-Allow-Headers', this.requestHeaders);
    response.setHeader('Access-Control-Max-Age', MAX_AGE);
    response.statusCode = 204;
    response.end();
    return true;
  }
}
