import { CorruptBlobError } from '#lib/domain';
import { createHash } from 'node:crypto';

/**
 * Passes bytes on and holds the newest chunk back until the next one is there, so that the end of a blob that is not what
 * its name says never goes out. @throws CorruptBlobError in place of that end.
 */
export async function* verified(bytes: AsyncIterable<Uint8Array>, sha256: string): AsyncIterable<Uint8Array> {
  const hash = createHash('sha256');
  let held: Uint8Array | undefined;
  for await (const chunk of bytes) {
    if (held) yield held;
    hash.update(chunk);
    held = chunk;
  }
  if (hash.digest('hex') !== sha256) throw new CorruptBlobError(`The blob ${sha256} is not what was stored.`);
  if (held) yield held;
}
