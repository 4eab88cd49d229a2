import { randomUUID } from 'node:crypto';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import type { OutgoingHttpHeader, OutgoingHttpHeaders, Server, ServerOptions } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';
import express from 'express';
import type { Express, Request } from 'express';
import { type Metrics, NO_METRICS } from '#lib/domain';
import { Cors } from './cors.js';
import { answerUnreadable, headFault, MAX_HEADER_BYTES, refuse } from './early-refusals.js';
import { countRequest } from './request.counter.js';
import { addStaticHeaders, staticHeaders } from './static-headers.js';

/** Largest JSON body in bytes when nothing else is said: 1 MiB. */
export const DEFAULT_MAX_BODY_BYTES = 1_048_576;

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;
const MAX_BODY = 'max body bytes';

export interface EdgeOptions {
  readonly maxBodyBytes?: number;
  readonly metrics?: Metrics;
  /** Origins whose pages may read answers; exact. */
  readonly corsOrigins?: readonly string[];
  /** Header fields those may send besides the usual ones. */
  readonly corsHeaders?: readonly string[];
  /** Callers come by https. */
  readonly isSecure?: boolean;
  /** Connections at once; those beyond are closed as they come. */
  readonly maxConnections?: number;
  readonly patience?: Partial<Patience>;
  /** Addresses of proxies whose `X-Forwarded-For` is believed; see Express on `trust proxy`. */
  readonly trustedProxies?: readonly string[];
}

/** How long connections are waited for, in ms. */
interface Patience {
  /** For the head of a request, from its first byte, or from the beginning of the connection. */
  readonly headersMs: number;
  /** For the next request on a connection: longer than load balancers keep one. */
  readonly keepAliveMs: number;
  /** How often the first is looked at. */
  readonly checkMs: number;
}

const PATIENCE: Patience = { headersMs: 15_000, keepAliveMs: 65_000, checkMs: 5_000 };

/** The bound on bodies of the application that serves this request. */
export function maxBodyBytesOf(request: Request): number {
  return request.app.get(MAX_BODY) as number;
}

/**
 * Express gives every request and response new prototypes, which costs more than all of routing. Here the server makes
 * them with those prototypes from the start, so that the swap finds nothing to do. Every response also gets its
 * `x-request-id` before anything can fail.
 */
export class EdgeAdapter extends ExpressAdapter {
  constructor(private readonly edge: EdgeOptions = {}) {
    const { maxBodyBytes = DEFAULT_MAX_BODY_BYTES, trustedProxies = [] } = edge;
    const app = express().disable('x-powered-by').disable('etag').set(MAX_BODY, maxBodyBytes);
    // One spelling per route: rules in front of us that go by paths would miss the others.
    app.enable('case sensitive routing');
    super(app.set('trust proxy', [...trustedProxies]));
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    class EdgeRequest extends IncomingMessage {}
    const { metrics = NO_METRICS, corsOrigins = [], corsHeaders = [] } = this.edge;
    const { isSecure = false, maxConnections = 0 } = this.edge;
    const headers = staticHeaders(isSecure);
    class EdgeResponse extends ServerResponse {
      override writeHead(status: number, ...rest: HeadArguments): this {
        addStaticHeaders(this, headers, typeof rest[0] === 'string' ? rest[1] : rest[0]);
        return super.writeHead(status, ...(rest as [OutgoingHttpHeaders?]));
      }
    }
    const cors = new Cors(corsOrigins, corsHeaders);
    app.request = adopt(EdgeRequest.prototype, app.request);
    app.response = adopt(EdgeResponse.prototype, app.response);
    const listener = (req: EdgeRequest, res: EdgeResponse): void => {
      const asked = req.headers['x-request-id'];
      res.setHeader('x-request-id', typeof asked === 'string' && REQUEST_ID.test(asked) ? asked : randomUUID());
      countRequest(metrics, res);
      const fault = headFault(req);
      if (fault) refuse(req, res, fault);
      else if (!cors.handle(req, res)) app(req, res);
    };
    const classes = { IncomingMessage: EdgeRequest, ServerResponse: EdgeResponse };
    const server: Server = createServer({ ...classes, ...serverOptions(this.edge.patience) }, listener);
    if (maxConnections > 0) server.maxConnections = maxConnections;
    server.on('drop', () => metrics.count('switchyard_connections_dropped_total', {}));
    // What it asks for beyond is ours to leave undone (RFC 9110, 10.1.1).
    server.on('checkExpectation', listener);
    server.on('clientError', (error, socket) => answerUnreadable(error, socket, metrics));
    this.setHttpServer(server);
  }
}

type HeadArguments = [reason?: string | OutgoingHttpHeaders | OutgoingHttpHeader[], headers?: OutgoingHttpHeaders];

/** A request that has begun is waited for by whoever reads its body: the server cannot tell an upload from a slow sender. */
function serverOptions(patience: Partial<Patience> = {}): ServerOptions {
  const { headersMs, keepAliveMs, checkMs } = { ...PATIENCE, ...patience };
  return {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headersMs,
    requestTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: checkMs,
    // Looked at by `headFault`, which says why.
    requireHostHeader: false,
  };
}

/** Makes `prototype` what Express would set on each object: its methods above, and `app` on it. */
function adopt<T extends Express['request'] | Express['response']>(prototype: object, express: T): T {
  Object.setPrototypeOf(prototype, Object.getPrototypeOf(express) as object);
  return Object.defineProperty(prototype, 'app', { configurable: true, writable: true, value: express.app }) as T;
}
