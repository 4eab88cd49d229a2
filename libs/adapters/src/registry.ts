import type { RegisteredAdapter } from './contract/index.js';

/** The adapters a runtime can host. One line per folder: `{ descriptor, create }`. */
export const REGISTRY: readonly RegisteredAdapter[] = [];
