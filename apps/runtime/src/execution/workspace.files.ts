import { constants, type FileHandle, lstat, open, readdir, realpath } from 'node:fs/promises';
import path from 'node:path';

/** A file of a workspace. `name` is relative, with slashes whatever the system has. */
export interface WorkspaceFile {
  readonly name: string;
  readonly size: number;
  /** Ms since the epoch. */
  readonly modifiedMs: number;
  readonly isExecutable: boolean;
}

/** More files than this make a workspace too large, whatever their size. */
export const MAX_FILES = 10_000;

/**
 * The regular files below a folder, by name. Links are neither followed nor listed. What goes away meanwhile is left out;
 * of more than MAX_FILES the walk ends with one too many.
 */
export async function listFiles(root: string): Promise<readonly WorkspaceFile[]> {
  const files: WorkspaceFile[] = [];
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined && files.length <= MAX_FILES; folder = folders.pop()) {
    for (const entry of await readdir(path.join(root, folder), { withFileTypes: true }).catch(unlessGone)) {
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) folders.push(name);
      else if (entry.isFile()) files.push(...(await describe(root, name)));
    }
  }
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function describe(root: string, name: string): Promise<readonly WorkspaceFile[]> {
  const found = await lstat(path.join(root, name)).catch(() => undefined);
  if (!found?.isFile()) return [];
  return [{ name, size: found.size, modifiedMs: found.mtimeMs, isExecutable: (found.mode & 0o100) !== 0 }];
}

/**
 * Opens a file for reading; undefined when there is none. No name leads out: links are resolved before the place is
 * judged, and not followed after.
 */
export async function openInside(root: string, name: string): Promise<FileHandle | undefined> {
  const realRoot = await realpath(root);
  const file = await realpath(path.resolve(realRoot, name));
  if (!file.startsWith(realRoot + path.sep)) return undefined;
  // Not waiting for the other end of a pipe.
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  return undefined;
}

function unlessGone(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
  throw error;
}
