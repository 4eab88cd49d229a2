import { ProtocolError } from '#lib/execution';
import { mkdirSync } from 'node:fs';
import { constants, open, realpath, rm } from 'node:fs/promises';
import path from 'node:path';

/** The directories of the runs of this process, one each, below one root. */
export class Workspaces {
  constructor(private readonly root: string) {}

  /** Made when it is first asked for: most runs need none. */
  open({ taskKey, runNo }: { readonly taskKey: string; readonly runNo: number }): Workspace {
    return new Workspace(path.join(this.root, `${taskKey}-${runNo}`));
  }
}

/** The directory of one run. */
export class Workspace {
  private isMade = false;

  constructor(private readonly dir: string) {}

  /** Absolute; exists from the first use on. */
  get path(): string {
    if (!this.isMade) mkdirSync(this.dir, { recursive: true, mode: 0o700 });
    this.isMade = true;
    return this.dir;
  }

  /**
   * The bytes of a file in it. No name leads out: links are resolved before the place is judged, and not followed after.
   * @throws ProtocolError when there is no such file.
   */
  async read(name: string): Promise<AsyncIterable<Uint8Array>> {
    const refuse = (cause?: unknown): ProtocolError =>
      new ProtocolError('An artifact names no file of the workspace.', { cause });
    try {
      const root = await realpath(this.path);
      const file = await realpath(path.resolve(root, name));
      if (!file.startsWith(root + path.sep)) throw refuse();
      const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
      if ((await handle.stat()).isFile()) return handle.createReadStream();
      await handle.close();
    } catch (cause) {
      throw refuse(cause);
    }
    throw refuse();
  }

  async dispose(): Promise<void> {
    if (this.isMade) await rm(this.dir, { recursive: true, force: true });
  }
}
