import { randomUUID } from 'node:crypto';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';
import express from 'express';
import type { Express, Request } from 'express';
import { type Metrics, NO_METRICS } from '#lib/domain';
import { countRequest } from './request.counter.js';

/** Largest JSON body in bytes when nothing else is said: 1 MiB. */
export const DEFAULT_MAX_BODY_BYTES = 1_048_576;

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;
const MAX_BODY = 'max body bytes';

export interface EdgeOptions {
  readonly maxBodyBytes?: number;
  readonly metrics?: Metrics;
}

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
  private readonly metrics: Metrics;

  constructor({ maxBodyBytes = DEFAULT_MAX_BODY_BYTES, metrics = NO_METRICS }: EdgeOptions = {}) {
    super(express().disable('x-powered-by').disable('etag').set(MAX_BODY, maxBodyBytes));
    this.metrics = metrics;
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    class EdgeRequest extends IncomingMessage {}
    class EdgeResponse extends ServerResponse {}
    app.request = adopt(EdgeRequest.prototype, app.request);
    app.response = adopt(EdgeResponse.prototype, app.response);
    const server: Server = createServer({ IncomingMessage: EdgeRequest, ServerResponse: EdgeResponse }, (req, res) => {
      const asked = req.headers['x-request-id'];
      res.setHeader('x-request-id', typeof asked === 'string' && REQUEST_ID.test(asked) ? asked : randomUUID());
      countRequest(this.metrics, res);
      app(req, res);
    });
    this.setHttpServer(server);
  }
}

/** Makes `prototype` what Express would set on each object: its methods above, and `app` on it. */
function adopt<T extends Express['request'] | Express['response']>(prototype: object, express: T): T {
  Object.setPrototypeOf(prototype, Object.getPrototypeOf(express) as object);
  return Object.defineProperty(prototype, 'app', { configurable: true, writable: true, value: express.app }) as T;
}
