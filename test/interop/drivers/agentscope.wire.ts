import http from 'node:http';
import type { Place } from './driver.js';

/** What AgentScope's Java client offers with every request on a plain connection. */
const H2C_OFFER = {
  connection: 'Upgrade, HTTP2-Settings',
  upgrade: 'h2c',
  'http2-settings': 'AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAABgAGAAA',
  'user-agent': 'Java-http-client/17.0.15',
};

export interface Asked {
  readonly method?: 'GET' | 'POST';
  /** Absent: none, with `Content-Length: 0`. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer, whose body is still to be read. */
export interface Head {
  readonly status: number;
  readonly version: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly response: http.IncomingMessage;
}

/** A request as that client makes it. Resolves with the head of the answer. */
export function knock({ url, key }: Place, path: string, asked: Asked = {}): Promise<Head> {
  const { body, method = body === undefined ? 'GET' : 'POST', headers } = asked;
  const text = body === undefined ? '' : JSON.stringify(body);
  const request = http.request(`${url}/tasks${path}`, {
    method,
    agent: false,
    headers: {
      ...H2C_OFFER,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      'content-length': String(Buffer.byteLength(text)),
      authorization: `Bearer ${key}`,
      ...headers,
    },
  });
  request.end(text);
  return new Promise((resolve, reject) => {
    request.once('error', reject);
    request.once('response', (response) => {
      const { statusCode = 0, httpVersion: version } = response;
      resolve({ status: statusCode, version, headers: response.headers, response });
    });
  });
}

export interface Answered {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The same with its whole body, `{}` when there is none. */
export async function ask(place: Place, path: string, asked: Asked = {}): Promise<Answered> {
  const { status, response } = await knock(place, path, asked);
  const text = await textOf(response);
  return { status, body: text === '' ? {} : (JSON.parse(text) as Answered['body']) };
}

export async function textOf(response: http.IncomingMessage): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  for await (const chunk of response as AsyncIterable<string>) text += chunk;
  return text;
}

/** An event as that client reads it: by its `data` alone. */
export interface Told {
  readonly seq: number;
  readonly type: string;
  readonly status?: string;
  readonly text?: string;
  readonly payload?: string;
  readonly [member: string]: unknown;
}

export interface EventReader {
  readonly head: Head;
  /** The frames so far, as they came. */
  readonly raw: () => string;
  /** Until the stream ends. */
  events(): AsyncGenerator<Told>;
  close(): void;
}

export async function openEvents(place: Place, taskId: string, fromSeq = 0): Promise<EventReader> {
  const query = fromSeq > 0 ? `?from_seq=${fromSeq}` : '';
  const resumed: Record<string, string> = fromSeq > 0 ? { 'last-event-id': String(fromSeq) } : {};
  const headers = { accept: 'text/event-stream', ...resumed };
  const head = await knock(place, `/${taskId}/events${query}`, { headers });
  let raw = '';
  async function* events(): AsyncGenerator<Told> {
    let rest = '';
    head.response.setEncoding('utf8');
    for await (const chunk of head.response as AsyncIterable<string>) {
      raw += chunk;
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = /^data:(.*)$/m.exec(block)?.[1];
        if (data !== undefined) yield JSON.parse(data) as Told;
      }
    }
  }
  return { head, raw: () => raw, events, close: () => void head.response.destroy() };
}
