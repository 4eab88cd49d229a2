export { openLockedObjects, openStorage } from './storage.js';
export type { OpenLockedObjects, OpenStorage } from './storage.js';
export { bucketName, s3Of, STORAGE_SETTINGS, storageOf } from './storage.settings.js';
export type { S3Storage, StorageOptions } from './storage.settings.js';
