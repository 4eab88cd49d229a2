import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, Post, Req, Res } from '@nestjs/common';
import type { INestApplication } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import type { Request, Response } from 'express';
import { AuditTrail, Logger } from '#lib/domain';
import { RecordingMetrics } from '../../../../test/support/recording-metrics.js';
import { until } from '../../../../test/support/until.js';
import { Authenticator } from '../core/authenticator.js';
import { readJsonBody } from './body.js';
import { EdgeAdapter, type EdgeOptions } from './express.adapter.js';
import { HttpModule } from './http.module.js';
import { bytesOf } from './raw-body.js';
import { Public } from './scopes.decorator.js';
import { EventStreams } from './sse.js';

const SLOW = { idleMs: 60_000, graceMs: 100, minBytesPerSecond: 1_000 };
const UUID = /^x-request-id: [0-9a-f-]{36}\r$/im;

@ApiExcludeController()
@Public()
@Controller('probe')
class ProbeController {
  constructor(private readonly streams: EventStreams) {}

  @Get()
  read(): object {
    return { ok: true };
  }

  @Get('stream')
  async stream(@Req() request: Request, @Res() response: Response): Promise<void> {
    await this.streams.serve(request, response, async () => silence());
  }

  @Post('json')
  async json(@Req() request: Request): Promise<object> {
    return { read: (await readJsonBody(request, 1_000, 100)).value };
  }

  @Post('bytes')
  bytes(@Req() request: Request): Promise<object> {
    return count(bytesOf(request));
  }

  @Post('slow-bytes')
  slowBytes(@Req() request: Request): Promise<object> {
    return count(bytesOf(request, SLOW));
  }
}

async function count(chunks: AsyncIterable<Uint8Array>): Promise<object> {
  let size = 0;
  for await (const chunk of chunks) size += chunk.length;
  return { size };
}

/** A stream on which nothing happens until it is left. */
function silence(): AsyncIterableIterator<string> {
  let leave: (end: IteratorResult<string>) => void = () => undefined;
  const end = { done: true as const, value: undefined };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => new Promise((resolve) => (leave = resolve)),
    return: async () => (leave(end), end),
  };
}

const ports = [
  { provide: Authenticator, useValue: {} },
  { provide: AuditTrail, useValue: { denied: () => undefined } },
  { provide: Logger, useValue: { error: () => undefined } },
];

@Module({ providers: ports, exports: ports.map(({ provide }) => provide) })
class PortsModule {}

const apps: INestApplication[] = [];
afterAll(async () => {
  for (const app of apps) {
    (app.getHttpServer() as Server).closeAllConnections();
    await app.close();
  }
});

async function boot(options: EdgeOptions): Promise<number> {
  const http = HttpModule.over([PortsModule]);
  @Module({ imports: [http], controllers: [ProbeController] })
  class ProbeModule {}
  const module = await Test.createTestingModule({ imports: [ProbeModule] }).compile();
  const app = module.createNestApplication(new EdgeAdapter(options), { bodyParser: false, logger: false });
  await app.listen(0, '127.0.0.1');
  apps.push(app);
  return (app.getHttpServer().address() as AddressInfo).port;
}

interface Conversation {
  write(text: string): void;
  /** What came back so far. */
  text(): string;
  readonly closed: Promise<string>;
  end(): void;
}

/** Sends bytes as they are. */
function converse(port: number, bytes: string): Conversation {
  let text = '';
  const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
  socket.on('data', (chunk) => (text += chunk.toString()));
  socket.on('error', () => undefined);
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)));
  return { write: (more) => void socket.write(more), text: () => text, closed, end: () => socket.destroy() };
}

const GET = 'GET /probe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n';

describe('a request that cannot be read', () => {
  let port: number;
  const metrics = new RecordingMetrics();
  beforeAll(async () => {
    port = await boot({ metrics, patience: { headersMs: 200, checkMs: 50 } });
  });

  it.each([
    ['of another protocol', 'SSH-2.0-client\r\n\r\n', 400, 'invalid_request'],
    ['with a header that is none', `${GET}a b: c\r\n\r\n`, 400, 'invalid_request'],
    ['with two lengths', `${GET}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx`, 400, 'invalid_request'],
    [
      'with a length and chunks',
      `${GET}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      'invalid_request',
    ],
    ['with 20 KB of headers', `${GET}x: ${'y'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['that does not come to its end', 'GET /probe HTTP/1.1\r\nHost: x\r\n', 408, 'request_timeout'],
    ['that never begins', '', 408, 'request_timeout'],
  ])(
    '%s is answered by a problem with a request id, and the connection is closed',
    async (_what, bytes, status, code) => {
      const answer = await converse(port, bytes).closed;
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [A-Z]`));
      expect(answer).toMatch(/^Content-Type: application\/problem\+json\r$/im);
      expect(answer).toMatch(/^Connection: close\r$/im);
      expect(answer).toMatch(UUID);
      const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
      expect(JSON.parse(body)).toMatchObject({ type: `urn:switchyard:error:${code}`, status, code });
      expect(metrics.counted).toContainEqual([
        'switchyard_http_requests_total',
        { method: 'none', route: 'none', status: String(status) },
        1,
      ]);
    },
  );

  it.each([
    ['with more than 100 header fields', `${GET}${'x: y\r\n'.repeat(101)}\r\n`, 431, 'headers_too_large'],
    [
      'with a long address',
      `GET /${'y'.repeat(9_000)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      414,
      'uri_too_long',
    ],
    ['without a host', 'GET /probe HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'invalid_request'],
    ['with two hosts', `${GET}hOST: x\r\n\r\n`, 400, 'invalid_request'],
    ['with two credentials', `${GET}Authorization: a b\r\nAUTHORIZATION: a b\r\n\r\n`, 400, 'invalid_request'],
    ['with two keys', `${GET}X-API-Key: a\r\nx-api-key: b\r\n\r\n`, 400, 'invalid_request'],
    ['with two types', `${GET}Content-Type: a/b\r\nContent-Type: c/d\r\n\r\n`, 400, 'invalid_request'],
    ['to another spelling of a path', GET.replace('/probe', '/PROBE') + '\r\n', 404, 'not_found'],
  ])('%s is refused the same way', async (_what, bytes, status, code) => {
    const answer = await converse(port, bytes).closed;
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toMatch(UUID);
    expect(answer).toContain(`"code":"${code}"`);
  });

  it('behind one that is being answered ends the connection without a second answer', async () => {
    const stream = converse(port, 'GET /probe/stream HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => stream.text().includes('text/event-stream'));
    stream.write('nonsense\r\n\r\n');
    const text = await stream.closed;
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  it('of which more is expected than we do is served all the same', async () => {
    expect(await converse(port, `${GET}Expect: the-moon\r\n\r\n`).closed).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('a slow client', () => {
  let port: number;
  beforeAll(async () => {
    port = await boot({ patience: { headersMs: 100, checkMs: 20 } });
  });
  const post = (route: string, length: number): string =>
    `POST /probe/${route} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`;
  const longerThanHeadersMay = (): Promise<unknown> => {
    const startedMs = performance.now();
    return until(() => performance.now() - startedMs > 400);
  };

  it('whose JSON does not arrive is told so with 408', async () => {
    const sender = converse(port, `${post('json', 50)}{"a":`);
    await until(() => sender.text() !== '');
    expect(sender.text()).toMatch(/^HTTP\/1\.1 408 /);
    sender.end();
  });

  it('that drips an upload is told so with 408', async () => {
    const sender = converse(port, post('slow-bytes', 100_000));
    const drip = setInterval(() => sender.write('x'), 20);
    await until(() => sender.text() !== '').finally(() => clearInterval(drip));
    expect(sender.text()).toMatch(/^HTTP\/1\.1 408 /);
    sender.end();
  });

  it('is spared while it uploads or reads a stream', async () => {
    const upload = converse(port, `${post('bytes', 4)}ab`);
    const stream = converse(port, 'GET /probe/stream HTTP/1.1\r\nHost: x\r\n\r\n');
    await longerThanHeadersMay();
    upload.write('cd');
    expect(await upload.closed).toContain('{"size":4}');
    expect(stream.text()).toMatch(/^HTTP\/1\.1 200 /);
    stream.end();
    expect((await stream.closed).match(/HTTP/g)).toHaveLength(1);
  });
});

describe('more connections than may be', () => {
  it('are closed as they come and counted, and those that are there stay', async () => {
    const metrics = new RecordingMetrics();
    const port = await boot({ metrics, maxConnections: 1 });
    const first = converse(port, 'GET /probe/stream HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => first.text() !== '');
    expect(await converse(port, `${GET}\r\n`).closed).toBe('');
    expect(metrics.counted).toContainEqual(['switchyard_connections_dropped_total', {}, 1]);
    expect(first.text()).toMatch(/^HTTP\/1\.1 200 /);
    first.end();
    await first.closed;
    await until(async () => (await converse(port, `${GET}\r\n`).closed).startsWith('HTTP/1.1 200 '));
  });
});

describe('the headers of an answer', () => {
  const CORP = 'cross-origin-resource-policy';
  let plain: string;
  let secure: string;
  beforeAll(async () => {
    plain = `http://127.0.0.1:${await boot({})}`;
    secure = `http://127.0.0.1:${await boot({ isSecure: true })}`;
  });

  it.each(['/probe', '/nothing', '/openapi.json'])(
    'of %s keep it from being run, framed, guessed at and kept',
    async (path) => {
      const { headers } = await fetch(plain + path);
      expect(Object.fromEntries(headers)).toMatchObject({
        'cache-control': 'no-store',
        'content-security-policy': "default-src 'none';frame-ancestors 'none'",
        [CORP]: 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      });
      expect(headers.has('strict-transport-security')).toBe(false);
    },
  );

  it('of the reader are its own where it has its own', async () => {
    const { headers } = await fetch(`${plain}/docs`);
    expect(headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('keep callers on https where they come by it', async () => {
    expect((await fetch(`${secure}/probe`)).headers.get('strict-transport-security')).toBe('max-age=31536000');
  });

  it('of an event stream are none but its own', async () => {
    const leaving = new AbortController();
    const { headers } = await fetch(`${secure}/probe/stream`, { signal: leaving.signal });
    leaving.abort();
    const names = [...headers.keys()].filter(
      (name) => !['date', 'connection', 'keep-alive', 'transfer-encoding'].includes(name),
    );
    expect(names).toEqual(['cache-control', 'content-type', 'x-accel-buffering', 'x-request-id']);
  });
});

describe('a page of another origin', () => {
  const ORIGIN = 'https://console.example';
  let base: string;
  beforeAll(async () => {
    base = `http://127.0.0.1:${await boot({ corsOrigins: [ORIGIN] })}`;
  });
  const corsOf = ({ headers }: globalThis.Response): [string, string][] =>
    [...headers].filter(([name]) => name.startsWith('access-control-'));

  it('that is allowed is told so, and may read what it needs', async () => {
    const answer = await fetch(`${base}/probe`, { headers: { origin: ORIGIN } });
    expect(Object.fromEntries(answer.headers)).toMatchObject({ 'access-control-allow-origin': ORIGIN, vary: 'Origin' });
    expect(answer.headers.get('access-control-expose-headers')).toContain('RateLimit-Policy');
    expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
  });

  it('that is allowed may ask beforehand, on any path', async () => {
    const headers = {
      origin: ORIGIN,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    };
    const answer = await fetch(`${base}/v1/anything`, { method: 'OPTIONS', headers });
    expect([answer.status, await answer.text()]).toEqual([204, '']);
    expect(answer.headers.get('access-control-allow-methods')).toContain('POST');
    expect(answer.headers.get('access-control-allow-headers')).toContain('Authorization');
  });

  it.each([
    'https://evil.example',
    'https://console.example.evil.example',
    'http://console.example',
    'null',
    'https://CONSOLE.example',
  ])('such as %s that is not allowed is told nothing', async (origin) => {
    const answer = await fetch(`${base}/probe`, { headers: { origin } });
    const preflight = await fetch(`${base}/probe`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'GET' },
    });
    expect([corsOf(answer), corsOf(preflight), preflight.status]).toEqual([[], [], 405]);
    expect(answer.headers.get('vary')).toBe('Origin');
  });

  it('is told nothing where none is allowed', async () => {
    const closed = `http://127.0.0.1:${await boot({})}`;
    const answer = await fetch(`${closed}/probe`, { headers: { origin: ORIGIN } });
    expect([corsOf(answer), answer.headers.has('vary')]).toEqual([[], false]);
  });
});
