import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { BlobStore } from '#lib/domain';

const SHA256 = /^[0-9a-f]{64}$/;

/**
 * Blobs as files below one folder: `<hash of the tenant>/<first two digits>/<SHA-256 of the content>`. Nothing a caller
 * names becomes part of a path. Bytes are written aside, flushed, and only then renamed into place.
 */
export class DiskBlobStore extends BlobStore {
  constructor(private readonly root: string) {
    super();
  }

  override async put(
    tenant: string,
    content: AsyncIterable<Uint8Array>,
  ): Promise<{ readonly sha256: string; readonly size: number }> {
    const incoming = path.join(this.root, 'incoming');
    await mkdir(incoming, { recursive: true });
    const aside = path.join(incoming, randomUUID());
    try {
      const blob = await writeDurably(aside, content);
      const target = this.fileOf(tenant, blob.sha256);
      await mkdir(path.dirname(target), { recursive: true });
      await rename(aside, target);
      await flushFolder(path.dirname(target));
      return blob;
    } catch (error) {
      await rm(aside, { force: true });
      throw error;
    }
  }

  override async open(
    tenant: string,
    sha256: string,
    range?: { readonly start: number; readonly end: number },
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    if (!SHA256.test(sha256)) return undefined;
    const file = await openExisting(this.fileOf(tenant, sha256));
    if (!file || !range) return file?.createReadStream();
    if (range.end > range.start) return file.createReadStream({ start: range.start, end: range.end - 1 });
    await file.close();
    return none();
  }

  private fileOf(tenant: string, sha256: string): string {
    const owner = createHash('sha256').update(tenant).digest('hex').slice(0, 32);
    return path.join(this.root, owner, sha256.slice(0, 2), sha256);
  }
}

async function writeDurably(
  name: string,
  content: AsyncIterable<Uint8Array>,
): Promise<{ readonly sha256: string; readonly size: number }> {
  const hash = createHash('sha256');
  let size = 0;
  const file = await open(name, 'wx');
  try {
    for await (const chunk of content) {
      hash.update(chunk);
      size += chunk.byteLength;
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { sha256: hash.digest('hex'), size };
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
  try {
    return await open(name, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function* none(): AsyncIterable<Uint8Array> {}
