import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { DomainError, type Metrics } from '#lib/domain';
import { encodeProblem, errorHeaders, PROBLEM_TYPE } from './problem.js';

/** Bytes of the request line and all header fields together. */
export const MAX_HEADER_BYTES = 16_384;
const MAX_HEADER_FIELDS = 100;
const MAX_URL_LENGTH = 8_192;
/** How long a connection that was refused may take to read why, in ms. */
const LINGER_MS = 1_000;

/** What is wrong with a request before anybody looks where it goes. */
export function headFault(request: IncomingMessage): DomainError | undefined {
  const { httpVersion, headers, rawHeaders, url = '' } = request;
  if (url.length > MAX_URL_LENGTH)
    return new DomainError('uri_too_long', `The address has more than ${MAX_URL_LENGTH} characters.`);
  // Node would leave out what comes after its own bound, and say nothing.
  if (rawHeaders.length > 2 * MAX_HEADER_FIELDS)
    return new DomainError('headers_too_large', `There are more than ${MAX_HEADER_FIELDS} header fields.`);
  const twice = repeatedField(rawHeaders);
  if (twice !== undefined) return faultyHeader(twice, 'duplicate', 'comes more than once');
  if (headers.host === undefined && httpVersion === '1.1')
    return faultyHeader('host', 'required', 'is required (RFC 9112, 3.2)');
  return undefined;
}

/**
 * Fields of which Node takes the first and drops the others, where somebody in front of us may have looked at another one:
 * where a request goes, whose it is and what its body is must not depend on who reads it (RFC 9112, 3.2; RFC 9110, 5.3).
 */
const SINGULAR: ReadonlySet<string> = new Set(['host', 'authorization', 'x-api-key', 'content-type']);

function repeatedField(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    if (!SINGULAR.has(name)) continue;
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}

function faultyHeader(name: string, code: string, message: string): DomainError {
  const path = `header.${name}`;
  return new DomainError('invalid_request', `${path}: ${message}.`, { faults: [{ path, code, message }] });
}

/** Answers without a route. */
export function refuse(request: IncomingMessage, response: ServerResponse, error: DomainError): void {
  const problem = encodeProblem(error, (request.url ?? '').split('?', 1)[0]!.slice(0, MAX_URL_LENGTH));
  response.writeHead(problem.status, { ...errorHeaders(error), 'Content-Type': PROBLEM_TYPE });
  response.end(JSON.stringify(problem));
}

/** What Node's parser found, by the code of its error; all others are malformed requests. */
const PARSER_FAULTS: Readonly<Record<string, DomainError>> = {
  HPE_HEADER_OVERFLOW: new DomainError(
    'headers_too_large',
    `The address and the header fields have more than ${MAX_HEADER_BYTES} bytes.`,
  ),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: new DomainError('payload_too_large', 'The extensions of a chunk are too large.'),
  ERR_HTTP_REQUEST_TIMEOUT: new DomainError('request_timeout', 'The request did not arrive in time.'),
};
const MALFORMED = new DomainError('invalid_request', 'The request is not HTTP/1.1.');

/** Answers a connection on which no request could be read: a problem document and a request id, like everywhere. */
export function answerUnreadable(error: NodeJS.ErrnoException, socket: Duplex, metrics: Metrics): void {
  if (socket.writableEnded) return;
  const { _httpMessage: begun } = socket as { _httpMessage?: ServerResponse };
  // A second answer behind the beginning of the first would be taken for a part of it.
  if (error.code === 'ECONNRESET' || !socket.writable || begun?.headersSent) return void socket.destroy();
  const refusal = PARSER_FAULTS[error.code ?? ''] ?? MALFORMED;
  const { instance: _none, ...problem } = encodeProblem(refusal, '');
  metrics.count('switchyard_http_requests_total', { method: 'none', route: 'none', status: String(problem.status) });
  socket.end(rawAnswer(problem.status, JSON.stringify(problem)));
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

function rawAnswer(status: number, body: string): string {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `x-request-id: ${randomUUID()}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
