import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UnavailableError } from '#lib/domain';
import { newTaskKey } from '#lib/platform';
import fc from 'fast-check';
import { MemoryBlobStore } from '../../../../test/support/memory-blob-store.js';
import { packFiles, unpackFiles } from './workspace.archive.js';
import { listFiles } from './workspace.files.js';
import { type Workspace, Workspaces } from './workspaces.js';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'switchyard-workspaces-'));
});
afterAll(() => rm(root, { recursive: true }));

const blobs = new MemoryBlobStore();
const taskKey = newTaskKey();
const open = (runNo: number, maxBytes = 1_000_000): Workspace =>
  new Workspaces({ root, maxBytes }, blobs).open({ taskKey, runNo, tenant: 't' });

async function newFolder(): Promise<string> {
  return mkdtemp(path.join(root, 'folder-'));
}

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe('a workspace', () => {
  it('that is saved by one run is found by the next, programs and odd names included', async () => {
    const first = open(1);
    const long = `deep/${'x'.repeat(120)}/größe 📦.txt`;
    await mkdir(path.join(first.path, path.dirname(long)), { recursive: true });
    await writeFile(path.join(first.path, long), 'found');
    await writeFile(path.join(first.path, 'run.sh'), '#!/bin/sh');
    await chmod(path.join(first.path, 'run.sh'), 0o755);
    await writeFile(path.join(first.path, 'empty'), '');
    const saved = await first.save();
    expect(await first.save()).toBeUndefined();
    await writeFile(path.join(first.path, 'more'), 'x');
    expect(await first.save()).toMatchObject({ sha256: expect.not.stringMatching(saved!.sha256) });

    const second = open(2);
    await second.restore(saved!);
    expect((await second.files()).map(({ name, size }) => [name, size])).toEqual([
      [long, 5],
      ['empty', 0],
      ['run.sh', 9],
    ]);
    expect(await textOf(await second.read(long))).toBe('found');
    expect((await stat(path.join(second.path, 'run.sh'))).mode & 0o777).toBe(0o700);
    expect(await second.save()).toBeUndefined();
    await first.dispose();
    await second.dispose();
    expect((await readdir(root)).filter((name) => name.startsWith(taskKey))).toEqual([]);
  });

  it('that nobody has used costs nothing and saves nothing', async () => {
    const unused = open(3);
    expect([await unused.save(), await unused.files(), unused.isUsed]).toEqual([undefined, [], false]);
  });

  it('leads out by no link and by no name', async () => {
    const workspace = open(4);
    const outside = path.join(root, 'outside.txt');
    await writeFile(outside, 'secret');
    await symlink(outside, path.join(workspace.path, 'link'));
    await symlink(root, path.join(workspace.path, 'folder'));
    await symlink('/etc', path.join(workspace.path, 'etc'));
    await writeFile(path.join(workspace.path, 'inside'), 'mine');
    expect((await workspace.files()).map(({ name }) => name)).toEqual(['inside']);
    for (const name of ['link', 'folder/outside.txt', '../outside.txt', outside, 'etc/passwd', '.', '', 'no\0name']) {
      await expect(workspace.read(name)).rejects.toMatchObject({ name: 'ProtocolError' });
    }
    const next = open(5);
    await next.restore((await workspace.save())!);
    expect((await next.files()).map(({ name }) => name)).toEqual(['inside']);
    await workspace.dispose();
    await next.dispose();
    expect(await readFile(outside, 'utf8')).toBe('secret');
  });

  it('that holds more than it may is neither saved nor listed', async () => {
    const workspace = open(6, 1_000);
    await writeFile(path.join(workspace.path, 'a'), 'x'.repeat(600));
    await expect(workspace.save()).resolves.toMatchObject({ size: expect.any(Number) });
    await writeFile(path.join(workspace.path, 'b'), 'x'.repeat(600));
    await expect(workspace.save()).rejects.toMatchObject({ name: 'WorkspaceFullError' });
    expect((await workspace.allFiles()).map(({ name }) => name)).toEqual(['a', 'b']);
    await workspace.dispose();
  });

  it('that cannot be read now is a failure without effects, one that is damaged is another', async () => {
    const workspace = open(7);
    await writeFile(path.join(workspace.path, 'a'), 'x');
    const saved = await workspace.save();
    await workspace.dispose();
    const away = new Workspaces(
      { root, maxBytes: 1_000 },
      Object.assign(new MemoryBlobStore(), { open: () => Promise.reject(new UnavailableError('away')) }),
    );
    const restored = away.open({ taskKey, runNo: 8, tenant: 't' }).restore(saved!);
    await expect(restored).rejects.toMatchObject({
      name: 'AdapterError',
      kind: 'unavailable',
      details: { effects: 'none' },
    });
    const bytes = blobs.blobs.get(`t/${saved!.sha256}`)!;
    bytes[bytes.length - 1] = 1;
    const damaged = open(9);
    await expect(damaged.restore(saved!)).rejects.toMatchObject({ name: 'CorruptBlobError' });
    await damaged.dispose();
    const missing = open(10);
    await expect(missing.restore({ sha256: '0'.repeat(64), size: 1 })).rejects.toThrow('missing');
    await missing.dispose();
  });
});

describe('an archive', () => {
  const pack = async (folder: string): Promise<Buffer> => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of packFiles(folder, await listFiles(folder))) chunks.push(chunk);
    return Buffer.concat(chunks);
  };
  async function* inPieces(bytes: Buffer, size: number): AsyncIterable<Uint8Array> {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }

  it('is one that tar reads', async () => {
    const folder = await newFolder();
    await mkdir(path.join(folder, 'sub'));
    const long = `sub/${'y'.repeat(150)}ß`;
    await writeFile(path.join(folder, long), 'long');
    await writeFile(path.join(folder, 'plain.txt'), 'x'.repeat(513));
    const archive = path.join(root, 'archive.tar');
    await writeFile(archive, await pack(folder));
    const { stdout } = await promisify(execFile)('tar', ['-tf', archive, '--quoting-style=literal']);
    expect(stdout.trim().split('\n').sort()).toEqual(['plain.txt', long].sort());
  });

  it('of any files comes back as it was, in pieces of any size', async () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
      .filter((text) => !/[/\0]|^\.{1,2}$/.test(text));
    const files = fc.dictionary(name, fc.uint8Array({ maxLength: 2_000 }), { maxKeys: 6 });
    await fc.assert(
      fc.asyncProperty(files, fc.integer({ min: 1, max: 1_500 }), async (contents, size) => {
        const [from, to] = [await newFolder(), await newFolder()];
        for (const [file, bytes] of Object.entries(contents)) await writeFile(path.join(from, file), bytes);
        await unpackFiles(inPieces(await pack(from), size), to);
        const written = (await listFiles(to)).map(async (file) => [
          file.name,
          await readFile(path.join(to, file.name)),
        ]);
        expect(Object.fromEntries(await Promise.all(written))).toEqual(
          Object.fromEntries(Object.entries(contents).map(([file, bytes]) => [file, Buffer.from(bytes)])),
        );
      }),
      { numRuns: 30 },
    );
  });

  it('has as many bytes of a file as it announces, whatever becomes of it meanwhile', async () => {
    const folder = await newFolder();
    for (const file of ['gone', 'shrunk', 'grown']) await writeFile(path.join(folder, file), 'x'.repeat(700));
    const files = await listFiles(folder);
    await rm(path.join(folder, 'gone'));
    await truncate(path.join(folder, 'shrunk'), 10);
    await writeFile(path.join(folder, 'grown'), 'y'.repeat(1_400));
    const to = await newFolder();
    await unpackFiles(packFiles(folder, files), to);
    const sizes = (await listFiles(to)).map(({ name, size }) => [name, size]);
    expect(sizes).toEqual([
      ['gone', 700],
      ['grown', 700],
      ['shrunk', 700],
    ]);
    expect(await readFile(path.join(to, 'grown'), 'utf8')).toBe('y'.repeat(700));
  });

  it.each(['../out', '/etc/out', 'a/../../out', './out', 'a//b', '..'])('that names %j is refused', async (name) => {
    const folder = await newFolder();
    async function* archive(): AsyncIterable<Uint8Array> {
      yield* packFiles(folder, [{ name, size: 1, modifiedMs: 0, isExecutable: false }]);
    }
    await expect(unpackFiles(archive(), await newFolder())).rejects.toThrow('outside');
  });

  it('that is cut off, damaged or holds a link is refused', async () => {
    const folder = await newFolder();
    await writeFile(path.join(folder, 'a'), 'x'.repeat(2_000));
    const good = await pack(folder);
    const attempt = async (bytes: Buffer): Promise<void> => unpackFiles(inPieces(bytes, 700), await newFolder());
    await expect(attempt(good.subarray(0, 1_000))).rejects.toThrow('too early');
    await expect(attempt(good.fill(7, 0, 4))).rejects.toThrow('damaged');
    await expect(attempt(Buffer.alloc(0))).rejects.toThrow('too early');
  });
});
