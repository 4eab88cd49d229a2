import http from 'node:http';

export interface ReceivedFrame {
  /** Undefined for a live-only frame. */
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** A server-sent-event reader that keeps the bytes as they came and reads no faster than it is asked. */
export class EventStream implements AsyncIterable<ReceivedFrame> {
  private constructor(
    readonly status: number,
    readonly headers: http.IncomingHttpHeaders,
    private readonly response: http.IncomingMessage,
  ) {}

  /** Resolves with the answer's head, whatever its status. */
  static open(
    url: string,
    options: { key: string; headers?: Record<string, string>; body?: unknown },
  ): Promise<EventStream> {
    const { key, headers, body } = options;
    const request = http.request(url, {
      method: body === undefined ? 'GET' : 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'text/event-stream',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
    });
    request.end(body === undefined ? undefined : JSON.stringify(body));
    return new Promise((resolve, reject) => {
      request.once('error', reject);
      request.once('response', (response) =>
        resolve(new EventStream(response.statusCode ?? 0, response.headers, response)),
      );
    });
  }

  /** Frames until the server ends the stream; throws when the connection was cut. Comments are left out. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ReceivedFrame> {
    let rest = '';
    this.response.setEncoding('utf8');
    for await (const chunk of this.response as AsyncIterable<string>) {
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const frame = parseFrame(block);
        if (frame) yield frame;
      }
    }
  }

  async text(): Promise<string> {
    this.response.setEncoding('utf8');
    let text = '';
    for await (const chunk of this.response as AsyncIterable<string>) text += chunk;
    return text;
  }

  pause(): void {
    this.response.pause();
  }

  close(): void {
    this.response.destroy();
  }
}

function parseFrame(block: string): ReceivedFrame | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const colon = line.indexOf(': ');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2));
  }
  const data = fields.get('data');
  return data === undefined ? undefined : { id: fields.get('id'), event: fields.get('event') ?? 'message', data };
}
