import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { DomainError } from '#lib/domain';

/** What is asked of somebody who sends bytes. */
export interface Pace {
  /** How long it may be silent, in ms. */
  readonly idleMs: number;
  /** How long it may be slow before anybody minds, in ms of waiting for it. */
  readonly graceMs: number;
  readonly minBytesPerSecond: number;
}

const PACE: Pace = { idleMs: 30_000, graceMs: 30_000, minBytesPerSecond: 1_024 };
/** How long the rest of a body that was refused may flow on unread, so that its sender gets to read why, in ms. */
const LINGER_MS = 5_000;

const MEDIA_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}(?:\s*;\s*[\w-]{1,50}=(?:[\w.+-]{1,100}|"[\w .+-]{0,100}"))*$/;

/**
 * The bytes of a body as they arrive. A sender that is silent for too long loses its connection; the time it is not read
 * from does not count against it.
 *
 * @throws DomainError `request_timeout` when it sends too little in too long a time
 */
export async function* bytesOf(request: IncomingMessage, pace: Pace = PACE): AsyncIterable<Uint8Array> {
  request.setTimeout(pace.idleMs, () => request.destroy(new Error('The sender was silent for too long.')));
  try {
    // Left alone when reading stops early: its destruction would reset the connection before the answer is read.
    yield* keepingPace(request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>, pace);
  } finally {
    request.setTimeout(0);
    if (!request.readableEnded) letPass(request);
  }
}

async function* keepingPace(chunks: AsyncIterable<Uint8Array>, pace: Pace): AsyncIterable<Uint8Array> {
  let [bytes, waitedMs, sinceMs] = [0, 0, performance.now()];
  for await (const chunk of chunks) {
    bytes += chunk.length;
    waitedMs += performance.now() - sinceMs;
    if (waitedMs > pace.graceMs && bytes * 1_000 < pace.minBytesPerSecond * waitedMs)
      throw new DomainError('request_timeout', `The body comes at less than ${pace.minBytesPerSecond} bytes a second.`);
    yield chunk;
    sinceMs = performance.now();
  }
}

/** Lets what is left of a body go by unread, for a while. */
export function letPass(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.resume();
  const timer = setTimeout(() => request.destroy(), LINGER_MS).unref();
  request.once('close', () => clearTimeout(timer));
  request.once('end', () => clearTimeout(timer));
}

/** How many bytes a body says it has; undefined when it does not. */
export function announcedBytes({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length'];
  return length === undefined ? undefined : Number(length);
}

/**
 * The media type of a body that is taken as it is; `application/octet-stream` when it has none.
 *
 * @throws DomainError `unsupported_media_type` for a form, for compressed content, and for what is no media type
 */
export function mediaTypeOf({ headers }: IncomingMessage): string {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw unsupported('content-encoding', 'bodies are taken as they are, not compressed');
  const type = headers['content-type'] ?? 'application/octet-stream';
  if (/^multipart\//i.test(type)) throw unsupported('content-type', 'the body is the file itself, not a form with it');
  if (!MEDIA_TYPE.test(type)) throw unsupported('content-type', 'must be a media type');
  return type;
}

/** The file name in `Content-Disposition` (RFC 6266), if there is one: `filename*` before `filename`. */
export function fileNameOf({ headers }: IncomingMessage): string | undefined {
  const text = headers['content-disposition'];
  if (text === undefined) return undefined;
  const encoded = /;\s*filename\*\s*=\s*UTF-8'[\w-]*'([^\s;]+)/i.exec(text)?.[1];
  if (encoded !== undefined) return decodePercent(encoded);
  const [, quoted, token] = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i.exec(text) ?? [];
  return quoted === undefined ? token && asUtf8(token) : asUtf8(quoted.replace(/\\(.)/g, '$1'));
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid('content-disposition', 'invalid_encoding', 'has a filename* that is not UTF-8');
  }
}

/** Node reads headers as Latin-1; most senders write UTF-8. */
function asUtf8(text: string): string {
  const utf8 = Buffer.from(text, 'latin1').toString('utf8');
  return utf8.includes('\ufffd') ? text : utf8;
}

/** A SHA-256 in lower-case hex, and the header it came in. */
export interface AnnouncedDigest {
  readonly sha256: string;
  readonly header: string;
}

/** Where a digest may be, and how it is written there; the first that is present counts. */
const DIGESTS: readonly { readonly header: string; readonly form: RegExp; readonly encoding: 'hex' | 'base64' }[] = [
  { header: 'x-sha256', form: /^([0-9a-f]{64})$/i, encoding: 'hex' },
  { header: 'content-digest', form: /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):/i, encoding: 'base64' },
  { header: 'digest', form: /(?:^|,)\s*sha-256=([A-Za-z0-9+/]{43}=)/i, encoding: 'base64' },
];

/**
 * The SHA-256 a sender announces: `X-SHA256`, `Content-Digest` (RFC 9530) or `Digest` (RFC 3230). Other algorithms are
 * not looked at.
 *
 * @throws DomainError `invalid_request` when it is malformed
 */
export function digestOf({ headers }: { readonly headers: IncomingHttpHeaders }): AnnouncedDigest | undefined {
  for (const { header, form, encoding } of DIGESTS) {
    const text = headers[header];
    if (typeof text !== 'string' || (header !== 'x-sha256' && !/sha-256=/i.test(text))) continue;
    const [, digest] = form.exec(text.trim()) ?? [];
    if (digest === undefined) throw invalid(header, 'invalid_digest', 'is not a SHA-256');
    return { header, sha256: Buffer.from(digest, encoding).toString('hex') };
  }
  return undefined;
}

function unsupported(header: string, message: string): DomainError {
  return new DomainError('unsupported_media_type', `${header}: ${message}.`, {
    faults: [{ path: `header.${header}`, code: 'unsupported', message }],
  });
}

function invalid(header: string, code: string, message: string): DomainError {
  const faults = [{ path: `header.${header}`, code, message }];
  return new DomainError('invalid_request', `${header}: ${message}.`, { faults });
}
