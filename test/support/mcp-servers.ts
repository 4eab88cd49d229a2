import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A tool of a server under test, with what it answers. */
export interface ServedTool {
  description: string;
  inputSchema: Record<string, unknown>;
  answer: (args: Record<string, unknown>, headers: IncomingMessage['headers'], meta: unknown) => object;
}

/** An MCP server by the official package, over streamable HTTP. */
export interface RealMcpServer {
  readonly url: string;
  readonly tools: Map<string, ServedTool>;
  /** Tells its clients that the list has changed. */
  changed(): void;
  /** Stops answering, for ever or until it is started again on the same port. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export async function realMcpServer(tools: Readonly<Record<string, ServedTool>>): Promise<RealMcpServer> {
  const served = new Map(Object.entries(tools));
  let headers: IncomingMessage['headers'] = {};
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'real', version: '1' }, { capabilities: { tools: { listChanged: true } } });
    for (const [name, { description, inputSchema, answer }] of served) {
      const config = { description, inputSchema: fromJsonSchema<Record<string, unknown>>(inputSchema) };
      server.registerTool(name, config, (args, context) => answer(args, headers, context.mcpReq._meta) as never);
    }
    return server;
  });
  const node = toNodeHandler(handler);
  const http = createServer((request, response) => {
    headers = request.headers;
    void node(request, response);
  });
  const port = await listen(http);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    tools: served,
    changed: () => handler.notify.toolsChanged(),
    stop: () => end(http),
    start: async () => void (await listen(http, port)),
  };
}

/** A JSON-RPC message as it came in. */
export interface Asked {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly cursor?: string };
}

export type Misbehaviour = (asked: Asked, response: ServerResponse, request: IncomingMessage) => void;

/**
 * A server that speaks just enough MCP to be listened to, and does with each request what `tools` and `misbehave` say. What
 * `misbehave` does not know it leaves to the server.
 */
export interface HostileMcpServer {
  readonly url: string;
  tools: readonly object[];
  on: Record<string, Misbehaviour>;
  readonly asked: Asked[];
  stop(): Promise<void>;
}

export async function hostileMcpServer(tools: readonly object[]): Promise<HostileMcpServer> {
  const hostile: HostileMcpServer = { url: '', tools, on: {}, asked: [], stop: () => end(http) };
  const http = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const asked = JSON.parse(Buffer.concat(chunks).toString()) as Asked;
      hostile.asked.push(asked);
      const misbehaviour = hostile.on[asked.params?.name ?? asked.method] ?? hostile.on[asked.method];
      if (misbehaviour) misbehaviour(asked, response, request);
      else behave(hostile, asked, response);
    });
  });
  const port = await listen(http);
  return Object.assign(hostile, { url: `http://127.0.0.1:${port}/mcp` });
}

function behave({ tools }: HostileMcpServer, { id, method }: Asked, response: ServerResponse): void {
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'hostile', version: '1' },
    },
    'tools/list': { tools },
    'tools/call': { content: [{ type: 'text', text: 'called' }] },
  };
  if (id === undefined) return void response.writeHead(202).end();
  const result = results[method];
  reply(response, result ? { id, result } : { id, error: { code: -32601, message: 'Method not found' } });
}

/** Answers with one JSON-RPC message. */
export function reply(response: ServerResponse, message: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', ...message }));
}

async function listen(http: Server, port = 0): Promise<number> {
  await new Promise<void>((resolve) => http.listen(port, '127.0.0.1', resolve));
  return (http.address() as AddressInfo).port;
}

async function end(http: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => http.close(() => resolve()));
  http.closeAllConnections();
  await closed;
}
