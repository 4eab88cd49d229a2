export { openStorage } from './storage.js';
export type { OpenStorage } from './storage.js';
export { STORAGE_SETTINGS, storageOf } from './storage.settings.js';
export type { StorageOptions } from './storage.settings.js';
