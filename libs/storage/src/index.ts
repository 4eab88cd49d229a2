export { DiskBlobStore } from './disk.blob-store.js';
