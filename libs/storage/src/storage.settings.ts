import path from 'node:path';
import { anyText, oneOf, SettingsError, type SettingValues, urlOf } from '#lib/platform';

/** A setting that names a bucket. */
export const bucketName = {
  expects: 'the name of a bucket',
  parse: (text: string): string | undefined => (/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(text) ? text : undefined),
};

/** Where artifacts are, for every process that reads or writes them; docs/operations.md shows it. */
export const STORAGE_SETTINGS = {
  STORAGE_DIR: {
    meaning: 'Folder of artifacts, the same for gateways and runtimes; absent: artifacts in DATA_DIR.',
    ...anyText,
  },
  S3_BUCKET: { meaning: 'Bucket of artifacts, in place of a folder; it must exist.', ...bucketName },
  S3_ENDPOINT: { meaning: 'Where that bucket is served; absent: AWS.', ...urlOf('http', 'https') },
  S3_REGION: { default: 'us-east-1', meaning: 'Region of the bucket.', ...anyText },
  S3_ACCESS_KEY_ID: { meaning: 'Key of the bucket; absent: what the AWS SDK finds for itself.', ...anyText },
  S3_SECRET_ACCESS_KEY: { meaning: 'Secret of that key.', ...anyText },
  S3_PATH_STYLE: {
    default: 'true',
    meaning: 'Whether the bucket is named in the path rather than in the host.',
    ...oneOf('true', 'false'),
  },
} as const;

export interface DiskStorage {
  readonly kind: 'disk';
  readonly dir: string;
}

export interface S3Storage {
  readonly kind: 's3';
  readonly bucket: string;
  readonly endpoint: string | undefined;
  readonly region: string;
  /** Undefined: what the SDK finds for itself. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
  readonly pathStyle: boolean;
}

export type StorageOptions = DiskStorage | S3Storage;

/** @throws SettingsError when the settings do not go together */
export function storageOf(settings: SettingValues<typeof STORAGE_SETTINGS>, dataDir: string): StorageOptions {
  const { STORAGE_DIR, S3_BUCKET, S3_ENDPOINT, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = settings;
  if (S3_BUCKET === undefined) {
    const rest = { S3_ENDPOINT, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY };
    const [useless] = Object.entries(rest).find(([, value]) => value !== undefined) ?? [];
    if (useless !== undefined) throw new SettingsError([`S3_BUCKET is missing, ${useless} needs it`]);
    return { kind: 'disk', dir: path.resolve(STORAGE_DIR ?? path.join(dataDir, 'artifacts')) };
  }
  if (STORAGE_DIR !== undefined) throw new SettingsError(['STORAGE_DIR and S3_BUCKET exclude each other']);
  return s3Of(settings, S3_BUCKET);
}

/** A bucket at the server these settings name. @throws SettingsError when the settings do not go together */
export function s3Of(settings: SettingValues<typeof STORAGE_SETTINGS>, bucket: string): S3Storage {
  return {
    kind: 's3',
    bucket,
    endpoint: settings.S3_ENDPOINT,
    region: settings.S3_REGION,
    credentials: credentialsOf(settings.S3_ACCESS_KEY_ID, settings.S3_SECRET_ACCESS_KEY),
    pathStyle: settings.S3_PATH_STYLE === 'true',
  };
}

function credentialsOf(accessKeyId?: string, secretAccessKey?: string): S3Storage['credentials'] {
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined;
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new SettingsError(['S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY go together']);
  }
  return { accessKeyId, secretAccessKey };
}
