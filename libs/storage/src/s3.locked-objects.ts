import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { openClient } from './s3.client.js';
import type { S3Storage } from './storage.settings.js';

const DAY_MS = 86_400_000;
/** A store that hangs holds nobody up who ends. */
const PUT_MS = 10_000;

/** Objects that nobody, the owner of the account included, can change or remove for a time: object lock in compliance mode. */
export class S3LockedObjects {
  private constructor(
    private readonly client: S3Client,
    private readonly bucket: string,
    private readonly retainDays: number,
  ) {}

  /** A store that is away now may be there later. @throws DomainError `unavailable` with one line for the operator */
  static async open(storage: S3Storage, retainDays: number, setting: string): Promise<S3LockedObjects> {
    return new S3LockedObjects(await openClient(storage, setting, true), storage.bucket, retainDays);
  }

  async put(name: string, content: string): Promise<void> {
    await this.client.send(
      new PutObjectCommand({
        Bucket: this.bucket,
        Key: name,
        Body: content,
        ContentType: 'application/jsonl',
        // S3 takes a lock only with a checksum of the content.
        ChecksumAlgorithm: 'SHA256',
        ObjectLockMode: 'COMPLIANCE',
        ObjectLockRetainUntilDate: new Date(Date.now() + this.retainDays * DAY_MS),
      }),
      { abortSignal: AbortSignal.timeout(PUT_MS) },
    );
  }

  close(): void {
    this.client.destroy();
  }
}
