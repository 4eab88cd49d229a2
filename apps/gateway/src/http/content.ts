import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { DomainError } from '#lib/domain';
import { type ByteRange, isKnown, mayRange, rangeOf } from './byte-range.js';

/** A representation that can be read in part. */
export interface Content {
  /** All but those that depend on the part: `Content-Length` and `Content-Range`. */
  readonly headers: Readonly<Record<string, string>>;
  /** In bytes. */
  readonly size: number;
  /** A strong tag, in its quotes. */
  readonly etag: string;
  /** All of it, or a part. */
  read(range?: ByteRange): Promise<AsyncIterable<Uint8Array>>;
}

/**
 * Answers GET and HEAD, conditional and in part (RFC 9110, 13 and 14), no faster than the client reads. Bytes that fail on
 * the way cut the connection, so that nobody takes them for the whole.
 *
 * @throws DomainError `range_not_satisfiable`
 */
export async function sendContent(request: Request, response: Response, content: Content): Promise<void> {
  const { headers: asked, method } = request;
  const { headers, size, etag } = content;
  const all = { ...headers, ETag: etag, 'Accept-Ranges': 'bytes' };
  if (isKnown(asked['if-none-match'], etag)) {
    const { 'Content-Type': _type, ...rest } = all as Record<string, string>;
    response.writeHead(304, rest).end();
    return;
  }
  const wanted = method === 'GET' && mayRange(headerOf(asked['if-range']), etag) ? asked.range : undefined;
  const range = rangeOf(wanted, size);
  if (range === 'unsatisfiable') {
    response.setHeader('Content-Range', `bytes */${size}`);
    throw new DomainError('range_not_satisfiable', `There are ${size} bytes.`);
  }
  const part = range === 'all' ? undefined : range;
  const bytes = method === 'HEAD' ? undefined : await content.read(part);
  response.strictContentLength = true;
  response.writeHead(part ? 206 : 200, { ...all, ...partHeaders(part, size) });
  if (bytes) await pipeline(Readable.from(bytes, { objectMode: false }), response);
  else response.end();
}

function partHeaders(part: ByteRange | undefined, size: number): Readonly<Record<string, string>> {
  if (!part) return { 'Content-Length': String(size) };
  const { start, end } = part;
  return { 'Content-Length': String(end - start), 'Content-Range': `bytes ${start}-${end - 1}/${size}` };
}

function headerOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}
