import { isOutboundError, OutboundError, type OutboundRequest, type OutboundResponse } from '#lib/domain';
import { isIP } from 'node:net';
import type { buildConnector, Dispatcher } from 'undici';
import type { Deadline } from './outbound.deadline.js';
import type { Target } from './outbound.target.js';

/** Bytes of the status line and header fields of an answer. */
const MAX_HEADER_BYTES = 16_384;
/** What belongs to the connection rather than to the request (RFC 9110, section 7.6.1), and what is for us to say. */
const OWN_HEADERS =
  /^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|content-length)$/;

/** An answer and the connection it comes from. */
export interface Exchanged {
  readonly response: OutboundResponse;
  /** Leaves the rest of the answer unread. */
  readonly close: () => void;
}

/** The connection could not be made: nothing was sent, and another address may do. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
}

/**
 * One request over a connection of its own to one address, which was checked. `Host`, the name asked for in TLS and the one
 * its certificate must have stay those of the URL. A connection is never used again: no request can meet one that another
 * purpose has opened, nor one that the server is just closing.
 */
export async function exchange(
  { url, host }: Target,
  address: string,
  { request, deadline, ca }: { readonly request: OutboundRequest; readonly deadline: Deadline; readonly ca?: string },
): Promise<Exchanged> {
  // Many a process calls nobody: it need not load what does.
  const { buildConnector, Client } = await import('undici');
  let isConnected = false;
  const connected = (): void => void (isConnected = true);
  const servername = isIP(host) ? '' : host;
  const client = new Client(url.origin, {
    connect: pinned(
      buildConnector({ ...CONNECTION, servername, timeout: request.timeoutMs, ca }),
      { hostname: address, servername },
      connected,
    ),
    pipelining: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const close = (): void => void client.destroy().catch(() => undefined);
  try {
    const response = await client.request({
      path: url.pathname + url.search,
      method: request.method.toUpperCase(),
      headers: headersOf(request),
      body: request.body ?? null,
      signal: deadline.signal,
    });
    deadline.signal.addEventListener('abort', close, { once: true });
    return { response: answerOf(response, request, { deadline, close }), close };
  } catch (error) {
    close();
    throw failureOf(error, deadline, isConnected);
  }
}

const CONNECTION = { maxCachedSessions: 0, autoSelectFamily: false };

/** Connects to the place and to nothing else, whatever name it is given. */
function pinned(
  connect: buildConnector.connector,
  place: { readonly hostname: string; readonly servername: string },
  connected: () => void,
): buildConnector.connector {
  return (asked, callback) => {
    connect({ ...asked, ...place }, (...outcome) => {
      if (outcome[0] === null) connected();
      callback(...outcome);
    });
  };
}

function headersOf({ headers = {} }: OutboundRequest): Record<string, string> {
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  if (given.some(([name]) => OWN_HEADERS.test(name))) {
    throw new OutboundError('refused', 'The request sets a header that belongs to the connection.', 'none');
  }
  return { 'user-agent': 'switchyard', ...Object.fromEntries(given), 'accept-encoding': 'identity' };
}

interface Ending {
  readonly deadline: Deadline;
  readonly close: () => void;
}

function answerOf(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  request: OutboundRequest,
  ending: Ending,
): OutboundResponse {
  // Without a listener an answer that is given up before anybody reads it would end the process.
  body.on('error', () => undefined);
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') throw new OutboundError('unavailable', 'The answer came compressed.', 'possible');
  const plain = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || name === 'set-cookie' ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
  );
  const bounded = boundedBody(body, request.maxResponseBytes, ending);
  return {
    status: statusCode,
    headers: Object.fromEntries(plain) as Record<string, string>,
    body: bounded,
    bytes: async () => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of bounded) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
  };
}

async function* boundedBody(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  { deadline, close }: Ending,
): AsyncIterable<Uint8Array> {
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.length;
      if (size > maxBytes) throw new OutboundError('too_large', `The answer is over ${maxBytes} bytes.`, 'possible');
      yield chunk;
    }
  } catch (error) {
    throw failureOf(error, deadline, true);
  } finally {
    deadline.release();
    close();
  }
}

const FAULTS: Readonly<Record<string, OutboundError>> = {
  UND_ERR_INVALID_ARG: new OutboundError('refused', 'The request cannot be written as HTTP.', 'none'),
  UND_ERR_HEADERS_OVERFLOW: new OutboundError('too_large', 'The head of the answer is too large.', 'possible'),
};

function failureOf(error: unknown, deadline: Deadline, isConnected: boolean): OutboundError | ConnectError {
  if (isOutboundError(error)) return error;
  if (deadline.signal.aborted) return deadline.failure(isConnected ? 'possible' : 'none');
  const { code, message, effects } = FAULTS[(error as { code?: string }).code ?? ''] ?? {};
  if (code !== undefined) return new OutboundError(code, message!, effects!, { cause: error });
  if (!isConnected) return new ConnectError('The host did not take the connection.', { cause: error });
  return new OutboundError('unavailable', 'The host broke off the exchange.', 'possible', { cause: error });
}
