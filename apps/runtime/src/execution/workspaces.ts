import { AdapterError } from '#lib/adapters/contract';
import { type BlobReference, type BlobStore, isUnavailableError } from '#lib/domain';
import { ProtocolError } from '#lib/execution';
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { packFiles, unpackFiles } from './workspace.archive.js';
import { listFiles, MAX_FILES, openInside, type WorkspaceFile } from './workspace.files.js';

/** A workspace is over its bound; ends the run. */
export class WorkspaceFullError extends Error {
  override readonly name = 'WorkspaceFullError';
}

/** By name, since realms differ under test. */
export function isWorkspaceFull(error: unknown): error is WorkspaceFullError {
  return (error as { name?: unknown } | null)?.name === 'WorkspaceFullError';
}

export interface WorkspacesOptions {
  /** Folder below which the directories are. */
  readonly root: string;
  /** Bytes one workspace may hold. */
  readonly maxBytes: number;
}

/** The directories of the runs of this process, one each, below one root. */
export class Workspaces {
  constructor(
    private readonly options: WorkspacesOptions,
    private readonly blobs: BlobStore,
  ) {}

  /** Made when it is first asked for: most runs need none. */
  open({ taskKey, runNo, tenant }: WorkspaceOwner): Workspace {
    const dir = path.join(this.options.root, `${taskKey}-${runNo}`);
    return new Workspace(dir, { tenant, blobs: this.blobs, maxBytes: this.options.maxBytes });
  }
}

interface WorkspaceOwner {
  readonly taskKey: string;
  readonly runNo: number;
  readonly tenant: string;
}

interface WorkspaceStorage {
  readonly tenant: string;
  readonly blobs: BlobStore;
  readonly maxBytes: number;
}

/** The directory of one run. */
export class Workspace {
  private isMade = false;
  /** What the newest saved state looked like. */
  private savedAs = '[]';

  constructor(
    private readonly dir: string,
    private readonly storage: WorkspaceStorage,
  ) {}

  /** Somebody has asked for it. */
  get isUsed(): boolean {
    return this.isMade;
  }

  /** Bytes it may hold. */
  get maxBytes(): number {
    return this.storage.maxBytes;
  }

  /** Absolute; exists from the first use on. */
  get path(): string {
    if (!this.isMade) mkdirSync(this.dir, { recursive: true, mode: 0o700 });
    this.isMade = true;
    return this.dir;
  }

  /** Puts back what an earlier run has saved. @throws AdapterError when storage does not answer: nothing was done yet. */
  async restore({ sha256 }: BlobReference): Promise<void> {
    const { blobs, tenant } = this.storage;
    try {
      const archive = await blobs.open(tenant, sha256);
      if (!archive) throw new Error(`the saved workspace ${sha256} is missing`);
      await unpackFiles(archive, this.path);
    } catch (cause) {
      if (!isUnavailableError(cause)) throw cause;
      throw new AdapterError('unavailable', 'The saved workspace cannot be read.', { effects: 'none', cause });
    }
    this.savedAs = JSON.stringify(await this.files());
  }

  /**
   * Saves its files where every runtime finds them. Undefined when nothing has changed since that was last done.
   * @throws WorkspaceFullError
   */
  async save(): Promise<BlobReference | undefined> {
    const files = await this.files();
    const state = JSON.stringify(files);
    if (state === this.savedAs) return undefined;
    const { blobs, tenant } = this.storage;
    const saved = await blobs.put(tenant, packFiles(this.dir, files));
    this.savedAs = state;
    return saved;
  }

  /** Its files as they are now. @throws WorkspaceFullError when they are more than it may hold */
  async files(): Promise<readonly WorkspaceFile[]> {
    const files = await this.allFiles();
    const size = files.reduce((sum, file) => sum + file.size, 0);
    if (size <= this.maxBytes && files.length <= MAX_FILES) return files;
    throw new WorkspaceFullError(`The workspace holds more than ${this.maxBytes} bytes or ${MAX_FILES} files.`);
  }

  /** Also when they are too many; then not all. */
  async allFiles(): Promise<readonly WorkspaceFile[]> {
    return this.isMade ? listFiles(this.dir) : [];
  }

  /** The bytes of a file in it. @throws ProtocolError when there is no such file, or its name leads out. */
  async read(name: string): Promise<AsyncIterable<Uint8Array>> {
    const refuse = (cause?: unknown): ProtocolError =>
      new ProtocolError('An artifact names no file of the workspace.', { cause });
    const file = await openInside(this.path, name).catch((cause: unknown) => {
      throw refuse(cause);
    });
    if (!file) throw refuse();
    return file.createReadStream();
  }

  async dispose(): Promise<void> {
    if (this.isMade) await rm(this.dir, { recursive: true, force: true });
  }
}
