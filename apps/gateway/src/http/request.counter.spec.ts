import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import express from 'express';
import { RecordingMetrics } from '../../../../test/support/recording-metrics.js';
import { until } from '../../../../test/support/until.js';
import { countRequest } from './request.counter.js';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serve(): Promise<{ url: string; seen: RecordingMetrics }> {
  const seen = new RecordingMetrics();
  const app = express();
  app.get('/things/:id', (_request, response) => void response.end('x'));
  app.get('/stream', (_request, response) => void response.type('text/event-stream').end('x'));
  app.get('/hang', (_request, response) => void response.write('x'));
  server = createServer((request, response) => {
    countRequest(seen, response);
    app(request, response);
  });
  await new Promise<void>((resolve) => void server?.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const counted = (method: string, route: string, status: string): unknown => [
  'switchyard_http_requests_total',
  { method, route, status },
  1,
];

describe('a request', () => {
  it('is counted and timed under its route, never under its path', async () => {
    const { url, seen } = await serve();
    for (const path of ['/things/1', '/things/2', '/nothing/3', '/things/1/more'])
      await (await fetch(url + path)).text();
    await until(() => seen.counted.length === 4);
    expect(seen.counted).toEqual([
      counted('GET', '/things/:id', '200'),
      counted('GET', '/things/:id', '200'),
      counted('GET', 'none', '404'),
      counted('GET', 'none', '404'),
    ]);
    expect(seen.observed).toHaveLength(4);
    const [name, labels, seconds] = seen.observed[0]!;
    expect([name, labels]).toEqual(['switchyard_http_request_seconds', { method: 'GET', route: '/things/:id' }]);
    expect(seconds).toBeGreaterThan(0);
  });

  it('for a stream is counted, not timed', async () => {
    const { url, seen } = await serve();
    await (await fetch(`${url}/stream`)).text();
    await until(() => seen.counted.length === 1);
    expect([seen.counted, seen.observed]).toEqual([[counted('GET', '/stream', '200')], []]);
  });

  it('whose client leaves is counted all the same', async () => {
    const { url, seen } = await serve();
    const leaving = new AbortController();
    await fetch(`${url}/hang`, { signal: leaving.signal });
    leaving.abort();
    await until(() => seen.counted.length === 1);
    expect(seen.counted).toEqual([counted('GET', '/hang', '200')]);
  });
});
