// Where the embedded server keeps its files.
import { createHash } from 'node:crypto';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');

/** Used by root where the server's user cannot enter the clone: outside of it, one folder per clone. */
export function fallbackHome() {
  return path.join('/var/lib/switchyard', createHash('sha256').update(root).digest('hex').slice(0, 12));
}
