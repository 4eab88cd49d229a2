import { request } from 'node:http';

const MAX_REPLY = 1024 * 1024;

export interface Reply {
  readonly status: number;
  readonly text: string;
  /** The body when it is JSON. */
  readonly json: unknown;
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** One request to our own child on the loopback; a child that dies or hangs fails it within its 10 s of life. */
export function callSite(port: number, { method, path, body, signal }: Asked): Promise<Reply> {
  const content = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const headers =
      content === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) };
    const outgoing = request(
      { host: '127.0.0.1', port, method, path, headers, agent: false, ...(signal === undefined ? {} : { signal }) },
      (incoming) => {
        const chunks: Buffer[] = [];
        let size = 0;
        incoming.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > MAX_REPLY) incoming.destroy();
          else chunks.push(chunk);
        });
        incoming.on('error', reject);
        incoming.on('close', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ status: incoming.statusCode ?? 0, text, json: parsed(text) });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(content);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
