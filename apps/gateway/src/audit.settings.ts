import { anyText, integerFrom, SettingsError, type SettingValues, urlOf } from '#lib/platform';
import { bucketName, s3Of, type S3Storage, type STORAGE_SETTINGS } from '#lib/storage';

/** Who signs the audit trail, and where its heads go; docs/audit.md says what for. */
export const AUDIT_SETTINGS = {
  AUDIT_KEY_FILE: {
    meaning: 'Ed25519 keys in PEM, the first signs the audit trail; absent: it is sealed, but not signed.',
    ...anyText,
  },
  AUDIT_HEADS_FILE: { meaning: 'File the heads of the audit trail are appended to; absent: none.', ...anyText },
  AUDIT_HEADS_WEBHOOK: { meaning: 'URL the heads are sent to; absent: none.', ...urlOf('http', 'https') },
  AUDIT_HEADS_BUCKET: {
    meaning: 'S3 bucket with object lock the heads are put into, where S3_ENDPOINT says; absent: none.',
    ...bucketName,
  },
  AUDIT_HEADS_RETAIN_DAYS: {
    default: '400',
    unit: 'days',
    meaning: 'How long nobody can remove them from that bucket.',
    ...integerFrom(1, 36_500),
  },
} as const;

export interface AuditOptions {
  readonly keyFile: string | undefined;
  readonly headsFile: string | undefined;
  readonly headsWebhook: string | undefined;
  readonly headsBucket: { readonly bucket: S3Storage; readonly retainDays: number } | undefined;
}

/** @throws SettingsError when the settings do not go together */
export function auditOptionsOf(
  settings: SettingValues<typeof AUDIT_SETTINGS> & SettingValues<typeof STORAGE_SETTINGS>,
): AuditOptions {
  const { AUDIT_HEADS_BUCKET: bucket, AUDIT_HEADS_RETAIN_DAYS: retainDays } = settings;
  if (bucket !== undefined && bucket === settings.S3_BUCKET) {
    throw new SettingsError(['AUDIT_HEADS_BUCKET must be another bucket than S3_BUCKET']);
  }
  return {
    keyFile: settings.AUDIT_KEY_FILE,
    headsFile: settings.AUDIT_HEADS_FILE,
    headsWebhook: settings.AUDIT_HEADS_WEBHOOK,
    headsBucket: bucket === undefined ? undefined : { bucket: s3Of(settings, bucket), retainDays },
  };
}
