import type { BlobStore } from '#lib/domain';
import { DiskBlobStore } from './disk.blob-store.js';
import type { S3Storage, StorageOptions } from './storage.settings.js';

/** A store that holds connections. */
export interface OpenStorage {
  readonly blobs: BlobStore;
  close(): Promise<void>;
}

/**
 * The store of artifact bytes. What speaks S3 is loaded only where it is used.
 *
 * @throws DomainError `unavailable` with one line for the operator when the bucket cannot be used
 */
export async function openStorage(options: StorageOptions): Promise<OpenStorage> {
  if (options.kind === 'disk') return { blobs: new DiskBlobStore(options.dir), close: async () => undefined };
  const { S3BlobStore } = await import('./s3.blob-store.js');
  const blobs = await S3BlobStore.open(options);
  return { blobs, close: () => blobs.close() };
}

/** Objects in a bucket with object lock, kept for that many days. */
export interface OpenLockedObjects {
  put(name: string, content: string): Promise<void>;
  close(): void;
}

/**
 * A bucket beside that of artifacts, on the same server and with the same credentials; `setting` named it.
 *
 * @throws DomainError `unavailable` with one line for the operator when the bucket cannot be used
 */
export async function openLockedObjects(
  bucket: S3Storage,
  retainDays: number,
  setting: string,
): Promise<OpenLockedObjects> {
  const { S3LockedObjects } = await import('./s3.locked-objects.js');
  return S3LockedObjects.open(bucket, retainDays, setting);
}
