/** A part of a representation in bytes; the start is inclusive, the end exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const ONE_RANGE = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i;

/**
 * What a `Range` header asks of `size` bytes (RFC 9110, 14.1.2): a part, all of them (no range, one that is malformed, or
 * several, which would let a small request cost much), or `unsatisfiable` when no byte of it is there.
 */
export function rangeOf(header: string | undefined, size: number): ByteRange | 'all' | 'unsatisfiable' {
  const [, first = '', last = ''] = ONE_RANGE.exec(header ?? '') ?? [];
  if (first === '') {
    if (last === '') return 'all';
    const count = Math.min(Number(last), size);
    return count === 0 ? 'unsatisfiable' : { start: size - count, end: size };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return 'all';
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) };
}

/** True when `If-Range` lets the range stand: absent, or the strong tag we have (RFC 9110, 13.1.5). A date never does: we give none. */
export function mayRange(ifRange: string | undefined, etag: string): boolean {
  return ifRange === undefined || ifRange.trim() === etag;
}

/** True when `If-None-Match` names the tag, weakly compared (RFC 9110, 13.1.2). */
export function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
}
