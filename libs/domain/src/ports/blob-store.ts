/** A stored blob: SHA-256 in lower-case hex, size in bytes. */
export interface BlobReference {
  readonly sha256: string;
  readonly size: number;
}

/** A part of a blob in bytes; the start is inclusive, the end exclusive. */
export interface BlobRange {
  readonly start: number;
  readonly end: number;
}

/** What was read is not what was stored. */
export class CorruptBlobError extends Error {
  override readonly name = 'CorruptBlobError';
}

/** Bytes of artifacts, by tenant and SHA-256 (lower-case hex). */
export abstract class BlobStore {
  /**
   * Streams to durable storage and resolves when the bytes would survive a crash. Storing the same bytes again is free of
   * effect, but counts as the latest time they were stored. Content that throws leaves nothing behind.
   */
  abstract put(tenant: string, content: AsyncIterable<Uint8Array>): Promise<BlobReference>;
  /**
   * A byte range or all; undefined when there is no such blob. All of it is verified: the last bytes of a blob that does
   * not have its SHA-256 are never given out, the stream throws CorruptBlobError instead. A range is given as it is.
   */
  abstract open(tenant: string, sha256: string, range?: BlobRange): Promise<AsyncIterable<Uint8Array> | undefined>;
  /**
   * Removes a blob, unless it was stored (again) after `storedBeforeMs`, in ms since the epoch. One that is not there is
   * free of effect.
   */
  abstract remove(tenant: string, sha256: string, storedBeforeMs: number): Promise<void>;
}
