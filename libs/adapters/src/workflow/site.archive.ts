import { zipSync } from 'fflate';
import type { SiteFile } from './site.writer.js';

/** Fixed, so that the same site is the same archive. The format's epoch, told as local time by its rules. */
const MODIFIED = new Date(1980, 0, 1);

/** All files of a site in one zip, in a folder of its own. */
export function archiveSite(files: readonly SiteFile[], folder: string): Uint8Array {
  const entries = files.map(({ name, content }) => [`${folder}/${name}`, new TextEncoder().encode(content)] as const);
  return zipSync(Object.fromEntries(entries), { mtime: MODIFIED, level: 6 });
}
