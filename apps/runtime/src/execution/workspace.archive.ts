import { mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import { openInside, type WorkspaceFile } from './workspace.files.js';

/** A tar file is made of blocks of this many bytes. */
const BLOCK = 512;
/** Times are left out, so that the same files are the same archive. */
const NO_TIME = 0;
const USTAR_NAME_BYTES = 100;

/**
 * The files as a tar archive (POSIX 1003.1, pax), read as they stand now. A file that has gone is an empty one; of one
 * that has grown, and of nothing else, the beginning is there.
 */
export async function* packFiles(root: string, files: readonly WorkspaceFile[]): AsyncIterable<Uint8Array> {
  for (const file of files) {
    yield* headersOf(file);
    yield* contentOf(root, file);
    yield padding(file.size);
  }
  yield Buffer.alloc(2 * BLOCK);
}

function* headersOf({ name, size, isExecutable }: WorkspaceFile): Iterable<Uint8Array> {
  const mode = isExecutable ? 0o700 : 0o600;
  const isPlain = /^[\x20-\x7e]+$/.test(name) && name.length <= USTAR_NAME_BYTES;
  if (!isPlain) {
    const record = paxRecord('path', name);
    yield header({ name: 'pax', size: record.length, mode: 0o600, type: 'x' });
    yield record;
    yield padding(record.length);
  }
  yield header({ name: isPlain ? name : 'file', size, mode, type: '0' });
}

/** `<length> <key>=<value>\n`, where the length counts its own digits. */
function paxRecord(key: string, value: string): Buffer {
  const rest = Buffer.from(` ${key}=${value}\n`);
  let length = rest.length;
  while (length !== rest.length + String(length).length) length = rest.length + String(length).length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

interface Header {
  readonly name: string;
  readonly size: number;
  readonly mode: number;
  /** `0`: a file. `x`: records for the entry that follows. */
  readonly type: string;
}

function header({ name, size, mode, type }: Header): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number): void => {
    block.write(value.toString(8).padStart(length - 1, '0'), at, 'ascii');
  };
  block.write(name, 0, 'ascii');
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(NO_TIME, 136, 12);
  block.fill(' ', 148, 156);
  block.write(type, 156, 'ascii');
  block.write('ustar\u000000', 257, 'ascii');
  block.write(`${sumOf(block).toString(8).padStart(6, '0')}\0`, 148, 'ascii');
  return block;
}

function sumOf(block: Uint8Array): number {
  return block.reduce((sum, byte) => sum + byte, 0);
}

function padding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}

/** Exactly as many bytes as the header has announced. */
async function* contentOf(root: string, { name, size }: WorkspaceFile): AsyncIterable<Uint8Array> {
  const file = await openInside(root, name).catch(() => undefined);
  let left = size;
  if (file && left > 0) {
    for await (const chunk of file.createReadStream({ end: left - 1 }) as AsyncIterable<Buffer>) {
      left -= chunk.length;
      yield chunk;
    }
  } else {
    await file?.close();
  }
  for (; left > 0; left -= BLOCK) yield Buffer.alloc(Math.min(left, BLOCK));
}

/**
 * Writes what `packFiles` has packed below an empty folder.
 * @throws Error when it is no such archive, or a name leads out of the folder
 */
export async function unpackFiles(archive: AsyncIterable<Uint8Array>, root: string): Promise<void> {
  const input = new BlockReader(archive);
  let longName: string | undefined;
  for (let block = await input.block(); !isEnd(block); block = await input.block()) {
    const { name, size, mode, type } = parseHeader(block);
    if (type === 'x') {
      longName = parsePax(Buffer.concat(await fromAsync(input.take(size))).toString());
    } else if (type === '0') {
      await writeFile(placeOf(root, longName ?? name), mode, input.take(size));
      longName = undefined;
    } else {
      throw new Error('the archive holds something that is no file');
    }
    await input.skip((BLOCK - (size % BLOCK)) % BLOCK);
  }
}

function isEnd(block: Uint8Array): boolean {
  return block.every((byte) => byte === 0);
}

function parseHeader(block: Buffer): Header {
  const text = (at: number, length: number): string => block.toString('ascii', at, at + length).replace(/\0.*$/s, '');
  const number = (at: number, length: number): number => parseInt(text(at, length), 8);
  const checked = Buffer.from(block).fill(' ', 148, 156);
  if (sumOf(checked) !== number(148, 8)) throw new Error('the archive is damaged');
  return { name: text(0, USTAR_NAME_BYTES), size: number(124, 12), mode: number(100, 8), type: text(156, 1) };
}

function parsePax(record: string): string {
  const [, name] = /^\d+ path=(.*)\n$/s.exec(record) ?? [];
  if (name === undefined) throw new Error('the archive has a record that is not understood');
  return name;
}

/** A name that is taken as it stands or not at all. */
function placeOf(root: string, name: string): string {
  const parts = name.split('/');
  const isInside = !name.includes('\0') && parts.every((part) => part !== '' && part !== '.' && part !== '..');
  if (!isInside || path.isAbsolute(name)) throw new Error('the archive names a place outside');
  return path.join(root, ...parts);
}

async function writeFile(file: string, mode: number, content: AsyncIterable<Uint8Array>): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const handle = await open(file, 'wx', mode & 0o700);
  try {
    for await (const chunk of content) await handle.writeFile(chunk);
  } finally {
    await handle.close();
  }
}

async function fromAsync(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}

/** Reads a stream of bytes in lengths of the reader's own. */
class BlockReader {
  private readonly chunks: AsyncIterator<Uint8Array>;
  private held: Buffer = Buffer.alloc(0);

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.chunks = bytes[Symbol.asyncIterator]();
  }

  async block(): Promise<Buffer> {
    return Buffer.concat(await fromAsync(this.take(BLOCK)));
  }

  async skip(size: number): Promise<void> {
    await fromAsync(this.take(size));
  }

  async *take(size: number): AsyncIterable<Uint8Array> {
    for (let left = size; left > 0;) {
      if (this.held.length === 0) {
        const next = await this.chunks.next();
        if (next.done) throw new Error('the archive ends too early');
        this.held = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
      }
      const part = this.held.subarray(0, left);
      this.held = this.held.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }
}
