import { HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { DomainError } from '#lib/domain';
import type { S3Storage } from './storage.settings.js';

const CONNECT_MS = 5_000;
/** How long a connection may be silent. */
const SILENT_MS = 30_000;

/** What the SDK throws, as far as it is looked at. */
export interface S3Failure {
  readonly name?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/**
 * A client whose bucket has answered, or did not answer at all, when it may be away.
 *
 * @throws DomainError `unavailable` with one line for the operator, beginning with the setting that names the bucket
 */
export async function openClient(
  { bucket, endpoint, region, credentials, pathStyle }: S3Storage,
  setting: string,
  mayBeAway = false,
): Promise<S3Client> {
  const client = new S3Client({
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(credentials ? { credentials } : {}),
    region,
    forcePathStyle: pathStyle,
    // The checksums that are sent when nothing asks for them end up in the content on servers that do not know them.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENT_MS },
  });
  try {
    await client.send(new HeadBucketCommand({ Bucket: bucket }));
  } catch (cause) {
    const { name, $metadata } = cause as S3Failure;
    const status = $metadata?.httpStatusCode;
    if (mayBeAway && (status === undefined || status >= 500)) return client;
    client.destroy();
    const reason = status ?? name;
    throw new DomainError('unavailable', `${setting}: the bucket cannot be used (${reason}).`, { cause });
  }
  return client;
}
