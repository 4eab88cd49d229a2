import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { type BlobRange, type BlobReference, BlobStore, UnavailableError } from '#lib/domain';
import { blobPlace, isBlobName } from './blob-name.js';
import { CountedBytes } from './counted-bytes.js';
import { openClient, type S3Failure } from './s3.client.js';
import type { S3Storage } from './storage.settings.js';
import { verified } from './verified.js';

/** Parts of 5 MiB that are in memory per upload: one on its way, one being filled. */
const PARTS_AT_ONCE = 1;

/**
 * Blobs as objects of a bucket: `<hash of the tenant>/<first two digits>/<SHA-256 of the content>`. Bytes go to a key
 * below `incoming/` and are copied into place inside the bucket once their SHA-256 is known.
 */
export class S3BlobStore extends BlobStore {
  private constructor(
    private readonly client: S3Client,
    private readonly bucket: string,
  ) {
    super();
  }

  /** @throws DomainError `unavailable` with one line for the operator */
  static async open(storage: S3Storage): Promise<S3BlobStore> {
    return new S3BlobStore(await openClient(storage, 'S3_BUCKET'), storage.bucket);
  }

  override async put(tenant: string, content: AsyncIterable<Uint8Array>): Promise<BlobReference> {
    const aside = `incoming/${randomUUID()}`;
    const counted = new CountedBytes(content);
    try {
      await this.upload(aside, counted);
      const blob = counted.reference();
      await this.assertSize(aside, blob.size);
      const copy = { Bucket: this.bucket, Key: keyOf(tenant, blob.sha256), CopySource: `${this.bucket}/${aside}` };
      await this.client.send(new CopyObjectCommand(copy));
      return blob;
    } catch (error) {
      throw counted.failure ?? asUnavailable(error);
    } finally {
      // What stays there after a crash is for a lifecycle rule of the bucket.
      await this.client.send(new DeleteObjectCommand({ Bucket: this.bucket, Key: aside })).catch(() => undefined);
    }
  }

  override async open(
    tenant: string,
    sha256: string,
    range?: BlobRange,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    if (!isBlobName(sha256)) return undefined;
    if (range && range.end <= range.start) return (await this.find(tenant, sha256)) ? none() : undefined;
    const Range = range && `bytes=${range.start}-${range.end - 1}`;
    try {
      const get = new GetObjectCommand({ Bucket: this.bucket, Key: keyOf(tenant, sha256), Range });
      const body = (await this.client.send(get)).Body as Readable | undefined;
      if (!body) return undefined;
      return range ? body : verified(body, sha256);
    } catch (error) {
      if (isMissing(error)) return undefined;
      if ((error as S3Failure).$metadata?.httpStatusCode === 416) return none();
      throw asUnavailable(error);
    }
  }

  /** Between the look and the removal lie milliseconds in which the same bytes could be stored anew: S3 knows no condition here. */
  override async remove(tenant: string, sha256: string, storedBeforeMs: number): Promise<void> {
    if (!isBlobName(sha256)) return;
    const found = await this.find(tenant, sha256);
    if (found === undefined || found.storedAtMs >= storedBeforeMs) return;
    const object = { Bucket: this.bucket, Key: keyOf(tenant, sha256) };
    await this.client.send(new DeleteObjectCommand(object)).catch((error: unknown) => {
      throw asUnavailable(error);
    });
  }

  async close(): Promise<void> {
    this.client.destroy();
  }

  private async upload(key: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const params = { Bucket: this.bucket, Key: key, Body: Readable.from(content, { objectMode: false }) };
    await new Upload({ client: this.client, params, queueSize: PARTS_AT_ONCE }).done();
  }

  /** Before the copy, which is whole or none: what is in place may be there for others already. */
  private async assertSize(key: string, size: number): Promise<void> {
    const { ContentLength } = await this.client.send(new HeadObjectCommand({ Bucket: this.bucket, Key: key }));
    if (ContentLength !== size) throw new Error(`the bucket holds ${ContentLength} bytes of a blob of ${size}`);
  }

  private async find(tenant: string, sha256: string): Promise<{ readonly storedAtMs: number } | undefined> {
    try {
      const head = new HeadObjectCommand({ Bucket: this.bucket, Key: keyOf(tenant, sha256) });
      const { LastModified } = await this.client.send(head);
      return { storedAtMs: LastModified?.getTime() ?? Infinity };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw asUnavailable(error);
    }
  }
}

function keyOf(tenant: string, sha256: string): string {
  return blobPlace(tenant, sha256).join('/');
}

function isMissing(error: unknown): boolean {
  return (error as S3Failure).$metadata?.httpStatusCode === 404;
}

/** No answer, or one that speaks of the server: the same request may work again. */
function asUnavailable(error: unknown): unknown {
  const status = (error as S3Failure).$metadata?.httpStatusCode;
  if (status !== undefined && status < 500) return error;
  return new UnavailableError('The storage of artifacts cannot be reached at the moment.', { cause: error });
}

async function* none(): AsyncIterable<Uint8Array> {}
