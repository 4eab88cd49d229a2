/** Bytes of artifacts, by tenant and SHA-256 (lower-case hex). */
export abstract class BlobStore {
  /** Streams to durable storage and resolves when the bytes would survive a crash. Storing the same bytes again is free of effect. */
  abstract put(
    tenant: string,
    content: AsyncIterable<Uint8Array>,
  ): Promise<{ readonly sha256: string; readonly size: number }>;
  /** A byte range (inclusive start, exclusive end) or all; undefined when there is no such blob. */
  abstract open(
    tenant: string,
    sha256: string,
    range?: { readonly start: number; readonly end: number },
  ): Promise<AsyncIterable<Uint8Array> | undefined>;
}
