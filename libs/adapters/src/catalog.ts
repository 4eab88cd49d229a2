import type { RunnerDescriptor } from './contract/index.js';

/** What is known of every runner kind, without loading any of them. One line per folder. */
export const CATALOG: readonly RunnerDescriptor[] = [];
