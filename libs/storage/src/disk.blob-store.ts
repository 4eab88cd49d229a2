import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { type BlobRange, type BlobReference, BlobStore, UnavailableError } from '#lib/domain';
import { blobPlace, isBlobName } from './blob-name.js';
import { CountedBytes } from './counted-bytes.js';
import { verified } from './verified.js';

/**
 * Blobs as files below one folder: `<hash of the tenant>/<first two digits>/<SHA-256 of the content>`. Nothing a caller
 * names becomes part of a path. Bytes are written aside, flushed, and only then renamed into place.
 */
export class DiskBlobStore extends BlobStore {
  constructor(private readonly root: string) {
    super();
  }

  override async put(tenant: string, content: AsyncIterable<Uint8Array>): Promise<BlobReference> {
    const aside = await this.newAside().catch(asUnavailable);
    const counted = new CountedBytes(content);
    try {
      await writeDurably(aside, counted);
      const blob = counted.reference();
      const target = this.fileOf(tenant, blob.sha256);
      await mkdir(path.dirname(target), { recursive: true });
      await rename(aside, target);
      await flushFolder(path.dirname(target));
      return blob;
    } catch (error) {
      await rm(aside, { force: true }).catch(() => undefined);
      if (counted.failure !== undefined) throw counted.failure as Error;
      return asUnavailable(error);
    }
  }

  override async open(
    tenant: string,
    sha256: string,
    range?: BlobRange,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    if (!isBlobName(sha256)) return undefined;
    const file = await openExisting(this.fileOf(tenant, sha256)).catch(asUnavailable);
    if (!file) return undefined;
    if (!range) return verified(file.createReadStream(), sha256);
    if (range.end > range.start) return file.createReadStream({ start: range.start, end: range.end - 1 });
    await file.close();
    return none();
  }

  /** Taken aside before it is judged: what is stored at the same moment is then another file, or is put back. */
  override async remove(tenant: string, sha256: string, storedBeforeMs: number): Promise<void> {
    if (!isBlobName(sha256)) return;
    const file = this.fileOf(tenant, sha256);
    if (!(await isOlder(file, storedBeforeMs))) return;
    const aside = await this.newAside();
    await rename(file, aside).catch(unlessMissing);
    if (await isOlder(aside, storedBeforeMs)) await rm(aside, { force: true });
    else await rename(aside, file).catch(unlessMissing);
    await flushFolder(path.dirname(file));
  }

  private async newAside(): Promise<string> {
    const incoming = path.join(this.root, 'incoming');
    await mkdir(incoming, { recursive: true });
    return path.join(incoming, randomUUID());
  }

  private fileOf(tenant: string, sha256: string): string {
    return path.join(this.root, ...blobPlace(tenant, sha256));
  }
}

async function isOlder(file: string, thanMs: number): Promise<boolean> {
  const found = await stat(file).catch(unlessMissing);
  return found !== undefined && found.mtimeMs < thanMs;
}

function unlessMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

/** A disk that is full, gone or out of reach: the same may work again. */
function asUnavailable(cause: unknown): never {
  throw new UnavailableError('The storage of artifacts cannot be reached at the moment.', { cause });
}

async function writeDurably(name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(name, 'wx');
  try {
    for await (const chunk of content) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A rename is durable once its folder is. */
async function flushFolder(name: string): Promise<void> {
  const folder = await open(name, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function openExisting(name: string): Promise<FileHandle | undefined> {
  return open(name, 'r').catch(unlessMissing);
}

async function* none(): AsyncIterable<Uint8Array> {}
