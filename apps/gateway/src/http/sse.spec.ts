import { createServer, request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EventStreams, KEEP_ALIVE_MS } from './sse.js';
import type { FrameSource } from './sse.js';

/** A source the test feeds by hand; it counts how it is used. */
class Feed implements AsyncIterableIterator<string> {
  pulls = 0;
  returns = 0;
  private readonly frames: string[] = [];
  private waiting: ((result: IteratorResult<string>) => void) | undefined;
  private isOver = false;

  push(...frames: string[]): void {
    this.frames.push(...frames);
    this.settle();
  }

  finish(): void {
    this.isOver = true;
    this.settle();
  }

  next(): Promise<IteratorResult<string>> {
    this.pulls++;
    return new Promise((resolve) => {
      this.waiting = resolve;
      this.settle();
    });
  }

  async return(): Promise<IteratorResult<string>> {
    this.returns++;
    this.finish();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  private settle(): void {
    const frame = this.frames[0];
    if (this.waiting === undefined || (frame === undefined && !this.isOver)) return;
    const { waiting } = this;
    this.waiting = undefined;
    this.frames.shift();
    waiting(frame === undefined ? { done: true, value: undefined } : { done: false, value: frame });
  }
}

let server: Server;
let streams: EventStreams;
let handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
let served: Promise<unknown>;
let failures: unknown[];

beforeEach(async () => {
  failures = [];
  streams = new EventStreams({ error: (_message, fields) => failures.push(fields) });
  server = createServer((request, response) => {
    served = handle(request, response).catch((error: unknown) => error);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  streams.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const serveFrom = (source: FrameSource): void => {
  handle = (request, response) => streams.serve(request, response, async () => source);
};

interface Client {
  readonly response: IncomingMessage;
  readonly request: ClientRequest;
  readonly text: () => string;
  readonly ended: Promise<string>;
}

/** Resolves with the headers, before any frame. */
function open(method = 'GET'): Promise<Client> {
  return new Promise((resolve) => {
    const { port } = server.address() as AddressInfo;
    const request = httpRequest({ port, host: '127.0.0.1', method, agent: false });
    request.on('error', () => undefined);
    request.on('response', (response) => {
      let text = '';
      response.on('data', (chunk) => (text += String(chunk)));
      const ended = new Promise<string>((done) => {
        response.on('end', () => done('end'));
        response.on('error', () => done('cut'));
      });
      resolve({ response, request, text: () => text, ended });
    });
    request.end();
  });
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe('an event stream', () => {
  it('sends its headers before the first frame and ends with its source', async () => {
    const feed = new Feed();
    serveFrom(feed);
    const client = await open();
    expect(client.response.statusCode).toBe(200);
    expect(client.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    feed.push('id: 1\ndata: a\n\n', 'id: 2\ndata: b\n\n');
    feed.finish();
    await expect(client.ended).resolves.toBe('end');
    expect(client.text()).toBe('id: 1\ndata: a\n\nid: 2\ndata: b\n\n');
    expect([feed.returns, streams.size]).toEqual([1, 0]);
  });

  it('returns its source when the client leaves while nothing happens', async () => {
    const feed = new Feed();
    serveFrom(feed);
    const client = await open();
    client.request.destroy();
    await until(() => feed.returns === 1);
    await until(() => streams.size === 0);
    await expect(served).resolves.toBeUndefined();
    expect(failures).toEqual([]);
  });

  it('returns its source when the client left while it was being opened', async () => {
    const feed = new Feed();
    let ready: (() => void) | undefined;
    let isGone = false;
    handle = (request, response) => {
      response.on('close', () => (isGone = true));
      return streams.serve(request, response, () => new Promise((resolve) => (ready = () => resolve(feed))));
    };
    const { port } = server.address() as AddressInfo;
    const request = httpRequest({ port, host: '127.0.0.1', agent: false }).on('error', () => undefined);
    request.end();
    await until(() => ready !== undefined);
    request.destroy();
    await until(() => isGone);
    ready?.();
    await until(() => streams.size === 0);
    expect([feed.returns, feed.pulls]).toEqual([1, 0]);
  });

  it('returns its source when the client leaves while the stream waits behind another answer on its connection', async () => {
    const feeds = [new Feed(), new Feed()];
    let asked = 0;
    handle = (request, response) => streams.serve(request, response, async () => feeds[asked++]!);
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2));
    await until(() => feeds.every(({ pulls }) => pulls === 1));
    socket.destroy();
    await until(() => feeds.every(({ returns }) => returns === 1));
    await until(() => streams.size === 0);
    expect(feeds.map(({ returns }) => returns)).toEqual([1, 1]);
  });

  it('can still fail with a status while it is being opened', async () => {
    handle = async (request, response) => {
      await streams
        .serve(request, response, () => Promise.reject(new Error('unknown')))
        .catch(() => response.writeHead(404).end());
    };
    const client = await open();
    await client.ended;
    expect([client.response.statusCode, streams.size]).toEqual([404, 0]);
  });

  it('does not pull from its source while the client does not read', async () => {
    const feed = new Feed();
    serveFrom(feed);
    const client = await open();
    client.response.pause();
    const frame = `data: ${'x'.repeat(65_536)}\n\n`;
    feed.push(...Array.from({ length: 1000 }, () => frame));
    feed.finish();
    let before = -1;
    await until(() => {
      const isSteady = feed.pulls === before && feed.pulls > 1;
      before = feed.pulls;
      return isSteady;
    });
    // What the sockets of both sides hold, and no more.
    expect(feed.pulls).toBeLessThan(500);
    client.response.resume();
    await expect(client.ended).resolves.toBe('end');
    expect(client.text()).toHaveLength(frame.length * 1000);
  });

  it('returns its source when a client that does not read leaves', async () => {
    const feed = new Feed();
    serveFrom(feed);
    const client = await open();
    client.response.pause();
    feed.push(...Array.from({ length: 1000 }, () => `data: ${'x'.repeat(65_536)}\n\n`));
    await until(() => feed.pulls > 1);
    client.request.destroy();
    await until(() => streams.size === 0);
    expect(feed.returns).toBe(1);
  });

  it('is cut, not ended, when its source fails', async () => {
    let fail = (): void => undefined;
    const failing = async function* (): AsyncGenerator<string> {
      yield 'data: a\n\n';
      await new Promise<void>((_resolve, reject) => (fail = () => reject(new Error('lost'))));
    };
    serveFrom(failing());
    const client = await open();
    fail();
    await expect(client.ended).resolves.toBe('cut');
    expect(failures).toEqual([expect.objectContaining({ error: expect.objectContaining({ message: 'lost' }) })]);
    expect(streams.size).toBe(0);
  });

  it('tells the client to come back when the process stops, also when it is still being opened', async () => {
    const feed = new Feed();
    serveFrom(feed);
    const client = await open();
    streams.close();
    await expect(client.ended).resolves.toBe('end');
    expect(client.text()).toBe('retry: 1000\n\n');
    const late = await open();
    await expect(late.ended).resolves.toBe('end');
    expect(late.text()).toBe('retry: 1000\n\n');
    expect([feed.returns, streams.size]).toEqual([2, 0]);
  });

  it('answers HEAD with headers alone', async () => {
    const feed = new Feed();
    serveFrom(feed);
    const client = await open('HEAD');
    await expect(client.ended).resolves.toBe('end');
    expect([client.response.headers['content-type'], feed.pulls, feed.returns]).toEqual([
      'text/event-stream; charset=utf-8',
      0,
      1,
    ]);
  });

  it('shows that it lives, all streams by the timers of the first', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    try {
      serveFrom(new Feed());
      const first = await open();
      const timers = jest.getTimerCount();
      serveFrom(new Feed());
      const second = await open();
      expect([timers > 0, jest.getTimerCount()]).toEqual([true, timers]);
      jest.advanceTimersByTime(KEEP_ALIVE_MS);
      await until(() => first.text() !== '' && second.text() !== '');
      expect([first.text(), second.text()]).toEqual([': keep-alive\n\n', ': keep-alive\n\n']);
      first.request.destroy();
      second.request.destroy();
      await until(() => streams.size === 0);
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });
});
