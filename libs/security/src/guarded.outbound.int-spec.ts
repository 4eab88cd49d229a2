import { afterEach, describe, expect, it } from '@jest/globals';
import type { OutboundRequest, OutboundResponse } from '#lib/domain';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { TEST_CERTIFICATE, TEST_KEY } from '../../../test/support/tls.js';
import { until } from '../../../test/support/until.js';
import { GuardedOutbound } from './guarded.outbound.js';
import { parseOutboundRules } from './outbound.rules.js';
import type { Resolve } from './outbound.target.js';

const servers: TcpServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    (server as Partial<Server>).closeAllConnections?.();
    server.close();
    await once(server, 'close');
  }
});

async function listen(server: TcpServer, host = '127.0.0.1', port = 0): Promise<number> {
  servers.push(server.listen(port, host));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const serve = (listener: RequestListener, host?: string, port?: number): Promise<number> =>
  listen(createServer(listener), host, port);

/** Allows what is at 127.0.0.1, so that what is at 127.0.0.2 stands for any other private address. */
function guard(resolve: Resolve = async () => ['127.0.0.1'], ca?: string): GuardedOutbound {
  return new GuardedOutbound({ rules: parseOutboundRules('*=127.0.0.1')!, allowPublic: true, resolve, ca });
}

function get(url: string, more: Partial<OutboundRequest> = {}): OutboundRequest {
  return { url, method: 'GET', purpose: 'webhook', timeoutMs: 5_000, maxResponseBytes: 1_000, ...more };
}

async function fails(work: Promise<unknown>): Promise<string> {
  const { name, code, effects } = await work.then(
    () => ({ name: 'nothing', code: '', effects: '' }),
    (error: unknown) => error as { name: string; code: string; effects: string },
  );
  return `${name} ${code}, ${effects}`;
}

const textOf = async (response: OutboundResponse): Promise<string> => Buffer.from(await response.bytes()).toString();

/** Answers each question with the next list of addresses, and counts the questions. */
function script(...answers: readonly (readonly string[])[]): Resolve & { readonly asked: string[] } {
  const asked: string[] = [];
  const resolve = async (host: string): Promise<readonly string[]> => answers[asked.push(host) - 1] ?? [];
  return Object.assign(resolve, { asked });
}

describe('an outbound request', () => {
  it('goes to the address that was checked, with the name of its URL as Host', async () => {
    const hosts: (string | undefined)[] = [];
    const port = await serve((request, response) => {
      hosts.push(request.headers.host, request.socket.localAddress);
      response.end('hello');
    });
    const response = await guard().request(get(`http://hooks.test:${port}/x`));
    expect([response.status, await textOf(response)]).toEqual([200, 'hello']);
    expect(hosts).toEqual([`hooks.test:${port}`, '127.0.0.1']);
  });

  it('connects only to the checked address while the name is rebound, and is refused at the next check', async () => {
    const seen: (string | undefined)[] = [];
    const note = (request: IncomingMessage): unknown => seen.push(request.socket.localAddress);
    const port = await serve((request, response) => (note(request), response.end()));
    await serve((request, response) => (note(request), response.end()), '127.0.0.2', port);
    const resolve = script(['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1', '127.0.0.2']);
    const client = guard(resolve);
    await (await client.request(get(`http://hooks.test:${port}/`))).bytes();
    expect(resolve.asked).toEqual(['hooks.test']);
    expect(await fails(client.request(get(`http://hooks.test:${port}/`)))).toBe('OutboundError refused, none');
    expect(await fails(client.request(get(`http://hooks.test:${port}/`)))).toBe('OutboundError refused, none');
    expect(seen).toEqual(['127.0.0.1']);
  });

  it('asks in TLS for the name of its URL, and takes no certificate of another', async () => {
    const names: unknown[] = [];
    const server = createTlsServer({ key: TEST_KEY, cert: TEST_CERTIFICATE }, (request, response) => {
      names.push((request.socket as TLSSocket).servername, request.headers.host);
      response.end('secret');
    });
    const port = await listen(server);
    const client = guard(undefined, TEST_CERTIFICATE);
    expect(await textOf(await client.request(get(`https://hooks.test:${port}/`)))).toBe('secret');
    expect(names).toEqual(['hooks.test', `hooks.test:${port}`]);
    const other = client.request(get(`https://other.test:${port}/`));
    expect(await fails(other)).toBe('OutboundError unavailable, none');
    expect(await fails(client.request(get(`https://127.0.0.1:${port}/`)))).toBe('OutboundError unavailable, none');
    expect(await fails(guard().request(get(`https://hooks.test:${port}/`)))).toBe('OutboundError unavailable, none');
  });

  it('tries the next checked address when one does not take the connection', async () => {
    const port = await serve((_, response) => response.end('second'), '127.0.0.1');
    const rules = parseOutboundRules('*=127.0.0.0/8')!;
    const client = new GuardedOutbound({ rules, allowPublic: false, resolve: script(['127.0.0.9', '127.0.0.1']) });
    expect(await textOf(await client.request(get(`http://hooks.test:${port}/`)))).toBe('second');
  });

  it('says that nothing was sent when no address takes the connection', async () => {
    const port = await serve(() => undefined);
    servers.pop()!.close();
    expect(await fails(guard().request(get(`http://hooks.test:${port}/`, { method: 'POST', body: 'x' })))).toBe(
      'OutboundError unavailable, none',
    );
  });

  it('says that it may have had effects when the connection breaks after it was sent', async () => {
    const port = await serve((request) => request.socket.destroy());
    expect(await fails(guard().request(get(`http://hooks.test:${port}/`, { method: 'POST', body: 'x' })))).toBe(
      'OutboundError unavailable, possible',
    );
  });

  it('uses no connection twice', async () => {
    const sockets = new Set<unknown>();
    const port = await serve((request, response) => (sockets.add(request.socket), response.end('x')));
    const client = guard();
    for (let n = 0; n < 3; n++) await (await client.request(get(`http://hooks.test:${port}/`))).bytes();
    expect(sockets.size).toBe(3);
  });

  it('keeps no cookies, asks for no compression, and takes no header of the connection', async () => {
    const seen: IncomingMessage['headers'][] = [];
    const port = await serve((request, response) => {
      seen.push(request.headers);
      response.setHeader('set-cookie', ['a=1', 'b=2']).setHeader('X-Two', ['1', '2']).end();
    });
    const client = guard();
    const url = `http://hooks.test:${port}/`;
    const headers = { 'Accept-Encoding': 'gzip', 'X-Own': 'y' };
    const first = await client.request(get(url, { headers }));
    await first.bytes();
    await (await client.request(get(url))).bytes();
    expect(first.headers).toMatchObject({ 'x-two': '1, 2' });
    expect(first.headers).not.toHaveProperty('set-cookie');
    expect(seen[0]).toMatchObject({ 'accept-encoding': 'identity', 'x-own': 'y' });
    expect(seen[1]).not.toHaveProperty('cookie');
    for (const name of [
      'Host',
      'connection',
      'Transfer-Encoding',
      'content-length',
      'Proxy-Authorization',
      'upgrade',
    ]) {
      expect(await fails(client.request(get(url, { headers: { [name]: 'x' } })))).toBe('OutboundError refused, none');
    }
    const split = client.request(get(url, { headers: { 'x-own': 'a\r\nHost: b' } }));
    expect(await fails(split)).toBe('OutboundError refused, none');
    expect(seen).toHaveLength(2);
  });

  it('goes past the proxies of the environment', async () => {
    const before = { ...process.env };
    Object.assign(process.env, {
      HTTP_PROXY: 'http://127.0.0.1:9',
      http_proxy: 'http://127.0.0.1:9',
      NODE_USE_ENV_PROXY: '1',
    });
    try {
      const port = await serve((_, response) => response.end('direct'));
      expect(await textOf(await guard().request(get(`http://hooks.test:${port}/`)))).toBe('direct');
    } finally {
      process.env = before;
    }
  });
});

describe('a redirect', () => {
  const to = (location: (port: number) => string, method = 'GET'): Promise<[string, string[]]> =>
    redirect(location, method);

  async function redirect(location: (port: number) => string, method: string): Promise<[string, string[]]> {
    const paths: string[] = [];
    const port: number = await serve((request, response) => {
      paths.push(request.url!);
      if (request.url === '/end') return response.end('end');
      return response.writeHead(302, { location: location(port) }).end('moved');
    });
    const outcome = await guard()
      .request(get(`http://hooks.test:${port}/start`, { method }))
      .then(async (response) => `${response.status} ${await textOf(response)}`)
      .catch((error: { code: string }) => error.code);
    return [outcome, paths];
  }

  it('of a GET is followed within its origin', async () => {
    expect(await to(() => '/end')).toEqual(['200 end', ['/start', '/end']]);
    expect(await to((port) => `http://hooks.test:${port}/end`)).toEqual(['200 end', ['/start', '/end']]);
  });

  it.each([
    ['a private address', 'http://169.254.169.254/latest'],
    ['another host', 'http://other.test/'],
    ['another scheme', 'https://hooks.test/'],
    ['another port', 'http://hooks.test:1/'],
    ['a file', 'file:///etc/passwd'],
    ['a user name', 'http://a@hooks.test/'],
    ['nonsense', 'http://['],
  ])('to %s is refused', async (_, location) => {
    expect(await to(() => location)).toEqual(['refused', ['/start']]);
  });

  it('of a POST is not followed', async () => {
    expect(await to(() => '/end', 'POST')).toEqual(['302 moved', ['/start']]);
  });

  it('that leads in a circle ends after five', async () => {
    expect(await to(() => '/again')).toEqual(['unavailable', ['/start', ...Array<string>(5).fill('/again')]]);
  });

  it('is checked again: a name that was rebound meanwhile is refused', async () => {
    const port = await serve((_, response) => response.writeHead(307, { location: '/again' }).end());
    const client = guard(script(['127.0.0.1'], ['127.0.0.2']));
    expect(await fails(client.request(get(`http://hooks.test:${port}/`)))).toBe('OutboundError refused, none');
  });
});

describe('an answer', () => {
  it('over its bound is cut off', async () => {
    let isClosed = false;
    const port = await serve((_, response) => {
      response.on('close', () => (isClosed = true));
      const more = (): void => void (response.write('x'.repeat(400)) && setImmediate(more));
      response.on('drain', more);
      more();
    });
    const response = await guard().request(get(`http://hooks.test:${port}/`));
    expect(await fails(response.bytes())).toBe('OutboundError too_large, possible');
    await until(() => isClosed);
  });

  it('that drips is cut off at the end of its time, as is one that never begins', async () => {
    const drips = await serve((_, response) => {
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    });
    const response = await guard().request(get(`http://hooks.test:${drips}/`, { timeoutMs: 200 }));
    expect(await fails(response.bytes())).toBe('OutboundError timeout, possible');
    const silent = await serve(() => undefined);
    const asked = guard().request(get(`http://hooks.test:${silent}/`, { timeoutMs: 100 }));
    expect(await fails(asked)).toBe('OutboundError timeout, possible');
  });

  it('that nobody reads lets go of its connection at the end of its time', async () => {
    let isClosed = false;
    const port = await serve((_, response) => {
      response.on('close', () => (isClosed = true));
      response.write('x');
    });
    await guard().request(get(`http://hooks.test:${port}/`, { timeoutMs: 100 }));
    await until(() => isClosed);
    expect(isClosed).toBe(true);
  });

  it('with endless header fields is refused', async () => {
    const port = await listen(
      createTcpServer((socket) => {
        socket.on('error', () => undefined);
        socket.write('HTTP/1.1 200 OK\r\n');
        const more = (): void =>
          void (socket.destroyed || (socket.write(`x: ${'y'.repeat(1_000)}\r\n`), setImmediate(more)));
        more();
      }),
    );
    expect(await fails(guard().request(get(`http://hooks.test:${port}/`)))).toBe('OutboundError too_large, possible');
  });

  it('that comes compressed though nobody asked is refused unread', async () => {
    const bomb = gzipSync(Buffer.alloc(1_000_000));
    const port = await serve((_, response) => response.setHeader('content-encoding', 'gzip').end(bomb));
    const asked = guard().request(get(`http://hooks.test:${port}/`, { maxResponseBytes: 10_000 }));
    expect(await fails(asked)).toBe('OutboundError unavailable, possible');
  });

  it('that is no HTTP is refused', async () => {
    const port = await listen(
      createTcpServer((socket) =>
        socket
          .on('error', () => undefined)
          .resume()
          .end('SSH-2.0-x\r\n'),
      ),
    );
    expect(await fails(guard().request(get(`http://hooks.test:${port}/`)))).toBe('OutboundError unavailable, possible');
  });
});

describe('waiting', () => {
  it('for a resolver that hangs ends in time', async () => {
    const client = guard(() => new Promise(() => undefined));
    expect(await fails(client.request(get('http://hooks.test/', { timeoutMs: 50 })))).toBe(
      'OutboundError timeout, none',
    );
  });

  it('ends when its caller gives up', async () => {
    const port = await serve(() => undefined);
    const controller = new AbortController();
    const asked = guard().request(get(`http://hooks.test:${port}/`, { signal: controller.signal }));
    controller.abort();
    expect(await fails(asked)).toMatch(/^OutboundError timeout/);
    const late = guard().request(get(`http://hooks.test:${port}/`, { signal: AbortSignal.abort() }));
    expect(await fails(late)).toBe('OutboundError timeout, none');
  });
});

describe('check', () => {
  it('lets pass what a request could be made to, and sends nothing', async () => {
    let requests = 0;
    const port = await serve((_, response) => (requests++, response.end()));
    await guard().check(`http://hooks.test:${port}/`, 'webhook');
    expect(await fails(guard(async () => ['10.0.0.1']).check('https://hooks.test/', 'webhook'))).toBe(
      'OutboundError refused, none',
    );
    expect(requests).toBe(0);
  });
});

describe('the guarded fetch', () => {
  it('sends and answers like fetch, through the guard', async () => {
    const port = await serve((request, response) => {
      if (request.url === '/empty') return response.writeHead(204).end();
      const { method, headers } = request;
      response.writeHead(200, { 'x-method': method, 'x-type': headers['content-type'] });
      return request.pipe(response);
    });
    const guarded = guard().fetchFor('mcp', { timeoutMs: 5_000, maxResponseBytes: 1_000 });
    const init = { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } };
    const response = await guarded(`http://hooks.test:${port}/`, init);
    expect(await response.json()).toEqual({ a: 1 });
    expect(Object.fromEntries(response.headers)).toMatchObject({ 'x-method': 'POST', 'x-type': 'application/json' });
    expect((await guarded(new URL(`http://hooks.test:${port}/empty`))).status).toBe(204);
    expect(await fails(guarded('http://10.0.0.1/'))).toBe('OutboundError refused, none');
    const large = await guarded(`http://hooks.test:${port}/`, { method: 'POST', body: 'x'.repeat(2_000) });
    expect(await fails(large.text())).toBe('OutboundError too_large, possible');
  });
});
