import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { DomainError, pointerTo } from '#lib/domain';
import type { JsonDocument } from './json-document.js';
import { JsonFault, readStrictJson } from './strict-json.js';

/** How long a JSON body may take to arrive, in ms. */
const ARRIVAL_MS = 30_000;

/**
 * How long the rest of a body that is too large may still come, in ms, before it is refused: who is answered and closed on in
 * the middle of sending finds a broken connection, and not the answer (RFC 9112, 9.6).
 */
const LINGER_MS = 1_000;

const MEDIA_TYPE = /^application\/(?:json|[a-z0-9!#$&^_.-]+\+json)\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?;?$/i;
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?;?$/i;

/** True when the request announces a body. */
export function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/**
 * The JSON of a request's body, at most `maxBytes` of it and never compressed: a small body cannot become a large one.
 *
 * @throws DomainError `unsupported_media_type`, `payload_too_large`, `request_timeout`, or `invalid_request` with the path of the fault
 */
export async function readJsonBody(
  request: IncomingMessage,
  maxBytes: number,
  arrivalMs = ARRIVAL_MS,
): Promise<JsonDocument> {
  if (!hasBody(request)) throw refusal('required', 'a JSON body is required');
  assertMediaType(request);
  return parseJsonBytes(await readBytes(request, maxBytes, arrivalMs));
}

/**
 * The fields of a form (`application/x-www-form-urlencoded`), of which none may come twice.
 *
 * @throws DomainError as for JSON
 */
export async function readFormBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<Readonly<Record<string, string>>> {
  const bytes = await readBytes(request, maxBytes);
  if (!isUtf8(bytes)) throw refusal('invalid_utf8', `is not UTF-8 at byte ${firstBadByte(bytes)}`);
  const fields = new URLSearchParams(bytes.toString('utf8'));
  const twice = [...fields.keys()].find((name) => fields.getAll(name).length > 1);
  if (twice !== undefined) throw refusal('duplicate_key', 'comes more than once', pointerTo(twice.slice(0, 100)));
  return Object.fromEntries(fields);
}

/** True when the body says it is a form, uncompressed. */
export function isForm({ headers }: IncomingMessage): boolean {
  return FORM_TYPE.test(headers['content-type'] ?? '') && headers['content-encoding'] === undefined;
}

function parseJsonBytes(bytes: Buffer): JsonDocument {
  if (!isUtf8(bytes)) throw refusal('invalid_utf8', `is not UTF-8 at byte ${firstBadByte(bytes)}`);
  try {
    return readStrictJson(bytes.toString('utf8'));
  } catch (error) {
    if (error instanceof JsonFault) throw refusal(error.code, error.message, error.path);
    throw error;
  }
}

function refusal(code: string, message: string, path = ''): DomainError {
  const where = path === '' ? 'The body' : path;
  return new DomainError('invalid_request', `${where}: ${message}.`, { faults: [{ path, code, message }] });
}

function assertMediaType({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw unsupported('content-encoding', 'bodies are taken as they are, not compressed');
  if (!MEDIA_TYPE.test(headers['content-type'] ?? ''))
    throw unsupported('content-type', 'must be application/json in UTF-8');
}

function unsupported(header: string, message: string): DomainError {
  const faults = [{ path: `header.${header}`, code: 'unsupported', message }];
  return new DomainError('unsupported_media_type', `${header}: ${message}.`, { faults });
}

function tooLarge(maxBytes: number): DomainError {
  return new DomainError('payload_too_large', `The body is larger than ${maxBytes} bytes.`);
}

function late(arrivalMs: number): DomainError {
  return new DomainError('request_timeout', `The body has not arrived within ${arrivalMs / 1_000} seconds.`);
}

function readBytes(request: IncomingMessage, maxBytes: number, arrivalMs = ARRIVAL_MS): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let lingering: NodeJS.Timeout | undefined;
    const refuse = (): void => {
      chunks.length = 0;
      lingering ??= setTimeout(() => reject(tooLarge(maxBytes)), LINGER_MS).unref();
    };
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) refuse();
    // Mostly all of it is here already, and nobody needs to look at a clock.
    const timer = request.complete ? undefined : setTimeout(() => reject(late(arrivalMs)), arrivalMs).unref();
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) refuse();
      else if (lingering === undefined) chunks.push(chunk);
    });
    const stopClocks = (): void => {
      clearTimeout(timer);
      clearTimeout(lingering);
    };
    request.on('end', () => {
      stopClocks();
      if (lingering !== undefined) return reject(tooLarge(maxBytes));
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    });
    const cut = (): void => {
      stopClocks();
      if (request.complete) return;
      reject(new DomainError('invalid_request', 'The connection closed before the body was complete.'));
    };
    request.on('error', cut);
    request.on('close', cut);
  });
}

/** What was decoded with replacement characters differs from the original at the first bad byte. */
function firstBadByte(bytes: Buffer): number {
  const replaced = Buffer.from(bytes.toString('utf8'));
  return bytes.findIndex((byte, index) => byte !== replaced[index]);
}
