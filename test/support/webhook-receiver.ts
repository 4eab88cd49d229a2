import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A message as it arrived. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly id: string;
  /** The body as it was sent. */
  readonly text: string;
  readonly body: { readonly type: string; readonly timestamp: string; readonly data: Record<string, unknown> };
  readonly atMs: number;
}

/** Answers a message: a status, with headers if need be, or by itself. */
export type Behaviour = (received: Received, response: ServerResponse) => number | void;

/** A server that webhooks post to: it keeps what comes, by path, and answers 204 unless told otherwise. */
export class WebhookReceiver {
  readonly received: Received[] = [];
  private readonly behaviours = new Map<string, Behaviour>();

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<WebhookReceiver> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const receiver = new WebhookReceiver(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const { headers, url = '/' } = request;
        const body = JSON.parse(text) as Received['body'];
        receiver.take(
          { path: url, headers, id: String(headers['webhook-id']), text, body, atMs: Date.now() },
          response,
        );
      });
    });
    return receiver;
  }

  /** How messages to this path are answered from now on. */
  on(path: string, behaviour: Behaviour): void {
    this.behaviours.set(path, behaviour);
  }

  /** What came to this path, oldest first. */
  at(path: string): readonly Received[] {
    return this.received.filter((message) => message.path === path);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private take(message: Received, response: ServerResponse): void {
    this.received.push(message);
    const status = (this.behaviours.get(message.path) ?? ((): number => 204))(message, response);
    if (typeof status === 'number') response.writeHead(status).end();
  }
}
