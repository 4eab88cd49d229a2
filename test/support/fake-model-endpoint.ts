import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the endpoint does with one request, in the words of the OpenAI chat wire. */
export interface Reply {
  /** Pieces of text to stream. */
  readonly text?: readonly string[];
  /** Pieces of reasoning, as endpoints commonly send them beside the text. */
  readonly reasoning?: readonly string[];
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finishReason?: string | null;
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
  /** Answered instead of a stream. */
  readonly status?: number;
  readonly body?: string;
  /** Sent as it is, as the event stream. */
  readonly raw?: string;
  /** After the pieces the socket is destroyed (`cut`), or stays open in silence (`hang`). */
  readonly end?: 'cut' | 'hang';
}

/** An HTTP server that speaks the OpenAI chat wire from a script: one reply per request, the last one again and again. */
export class FakeModelEndpoint {
  readonly requests: Record<string, unknown>[] = [];
  readonly authorizations: (string | undefined)[] = [];
  private open = 0;
  private served = 0;
  private readonly server = createServer((request, response) => void this.answer(request, response));

  private constructor(private readonly script: readonly Reply[]) {}

  static async start(script: readonly Reply[]): Promise<FakeModelEndpoint> {
    const endpoint = new FakeModelEndpoint(script);
    endpoint.server.listen(0, '127.0.0.1');
    await once(endpoint.server, 'listening');
    return endpoint;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  /** Requests whose connection is still held. */
  get openRequests(): number {
    return this.open;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.open += 1;
    response.on('close', () => (this.open -= 1));
    let body = '';
    for await (const chunk of request) body += String(chunk);
    // Its client has left in the middle.
    if (!request.complete) return;
    this.requests.push(JSON.parse(body) as Record<string, unknown>);
    this.authorizations.push(request.headers.authorization);
    const reply = this.script[Math.min(this.served, this.script.length - 1)] ?? {};
    this.served += 1;
    if (reply.status !== undefined) {
      response.writeHead(reply.status, { 'content-type': 'application/json' }).end(reply.body ?? '{}');
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(reply.raw ?? framesOf(reply));
    if (reply.end === 'cut') response.write(': \n', () => response.destroy());
    else if (reply.end !== 'hang') response.end();
  }
}

function framesOf(reply: Reply): string {
  const { text = [], reasoning = [], toolCalls = [], usage, end } = reply;
  const finish = reply.finishReason === undefined ? (toolCalls.length > 0 ? 'tool_calls' : 'stop') : reply.finishReason;
  const choices: unknown[] = [
    { delta: { role: 'assistant', content: '' } },
    ...reasoning.map((piece) => ({ delta: { reasoning_content: piece } })),
    ...text.map((piece) => ({ delta: { content: piece } })),
    ...toolCalls.flatMap(toolDeltas),
    ...(finish === null || end !== undefined ? [] : [{ delta: {}, finish_reason: finish }]),
  ];
  const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'fake' };
  const chunks = choices.map((choice) => ({ ...base, choices: [{ index: 0, ...(choice as object) }] }));
  const frames = usage ? [...chunks, { ...base, choices: [], usage }] : chunks;
  const data = frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('');
  return end === undefined ? `${data}data: [DONE]\n\n` : data;
}

/** A call as endpoints stream it: name first, then its arguments in pieces. */
function toolDeltas(call: { id: string; name: string; arguments: string }, index: number): unknown[] {
  const half = Math.ceil(call.arguments.length / 2);
  return [
    { delta: { tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }] } },
    ...[call.arguments.slice(0, half), call.arguments.slice(half)].map((piece) => ({
      delta: { tool_calls: [{ index, function: { arguments: piece } }] },
    })),
  ];
}
