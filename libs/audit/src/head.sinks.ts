import { open } from 'node:fs/promises';
import type { OutboundClient, StoredHead } from '#lib/domain';
import type { HeadSink } from './head.exports.js';

/** Bytes at the end of a file that hold its last line. */
const TAIL = 4_096;
const WEBHOOK_LIMITS = { timeoutMs: 10_000, maxResponseBytes: 65_536 };

function linesOf(heads: readonly StoredHead[]): string {
  return heads.map((head) => `${JSON.stringify(head)}\n`).join('');
}

/** A file that is only appended to, one head per line; it knows by itself how far it has come. */
export class FileSink implements HeadSink {
  readonly kind = 'file';
  readonly name: string;

  constructor(private readonly path: string) {
    this.name = `file ${path}`;
  }

  async last(): Promise<StoredHead | undefined> {
    const tail = await this.tail();
    const lines = tail.split('\n').slice(0, -1);
    return lines.map(headOf).findLast((head) => head !== undefined);
  }

  async send(heads: readonly StoredHead[]): Promise<void> {
    const isTorn = !['', '\n'].includes((await this.tail()).slice(-1));
    const file = await open(this.path, 'a', 0o600);
    try {
      await file.appendFile(`${isTorn ? '\n' : ''}${linesOf(heads)}`);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  private async tail(): Promise<string> {
    const file = await open(this.path, 'a+', 0o600);
    try {
      const { size } = await file.stat();
      const length = Math.min(size, TAIL);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await file.close();
    }
  }
}

/** A line that was torn when its writer died, or when the disk was full, is none. */
function headOf(line: string): StoredHead | undefined {
  try {
    const head = JSON.parse(line) as StoredHead | null;
    return typeof head?.no === 'number' ? head : undefined;
  } catch {
    return undefined;
  }
}

/** A POST of `{"heads":[…]}`; any status of 2xx says that they were taken. */
export class WebhookSink implements HeadSink {
  readonly kind = 'webhook';
  readonly name: string;

  constructor(
    private readonly url: string,
    private readonly outbound: OutboundClient,
  ) {
    this.name = `webhook ${new URL(url).origin}`;
  }

  async send(heads: readonly StoredHead[]): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    const request = { url: this.url, method: 'POST', headers, body: JSON.stringify({ heads }) };
    const response = await this.outbound.request({ ...request, purpose: 'webhook', ...WEBHOOK_LIMITS });
    await response.bytes();
    if (response.status < 200 || response.status > 299) throw new Error(`the webhook answers ${response.status}`);
  }
}

/** Where objects can be put that nobody can change or remove for a time. */
export interface LockedObjects {
  put(name: string, content: string): Promise<void>;
}

/** One object per export, named by the number and root of its last head: a number is given out again after a restore. */
export class BucketSink implements HeadSink {
  readonly kind = 'bucket';
  readonly name: string;

  constructor(
    bucket: string,
    private readonly objects: LockedObjects,
  ) {
    this.name = `bucket ${bucket}`;
  }

  async send(heads: readonly StoredHead[]): Promise<void> {
    const { no = 0, root = '' } = heads.at(-1) ?? {};
    await this.objects.put(`audit-heads/${String(no).padStart(16, '0')}-${root.slice(0, 16)}.jsonl`, linesOf(heads));
  }
}
