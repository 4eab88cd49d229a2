import { type ListedTool, type Logger, ToolError } from '#lib/domain';
import { Client, type JsonSchemaValidatorResult, type Transport } from '@modelcontextprotocol/client';
import type { ToolCall } from '../contract/tool.js';
import { cleanText } from '../foreign-text.js';
import { readListing } from './mcp.listing.js';
import { outputOfResult } from './mcp.result.js';

/** What a session is opened with. */
export interface SessionParts {
  readonly serverId: string;
  readonly transport: Transport;
  /** The handshake of revisions before 2026-07-28, without asking first which one the server speaks. */
  readonly isLegacy: boolean;
  readonly maxBytes: number;
  /** Takes secrets out of a text. */
  readonly hide: (text: string) => string;
  readonly logger: Logger;
  /** The server says that its list has changed. */
  readonly onChanged: () => void;
  readonly onClosed: () => void;
}

/** One call of a tool that was accepted. */
export interface SessionCall extends Pick<ToolCall, 'signal' | 'idempotencyKey'> {
  readonly tool: ListedTool;
  readonly args: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
}

/** How long the handshake and each page of a list may take, in ms. */
const CONNECT_MS = 10_000;
/** Pages of a list. */
const MAX_PAGES = 16;
/** A server that says again and again that its list has changed is looked at this often, in ms. */
const DEBOUNCE_MS = 1_000;
/** A call is given up by its signal; only where nobody does, by this much later, in ms. */
const MARGIN_MS = 1_000;
/** Metadata of a call (MCP, `_meta`) that says which call it is, whenever it is made again. */
const CALL_KEY = 'switchyard/idempotency-key';

/** What comes back is bounded and cleaned here; a schema of the server's own would prove nothing of it, and costs. */
const NO_VALIDATION = { getValidator: <T>() => accepted<T> };

function accepted<T>(input: unknown): JsonSchemaValidatorResult<T> {
  return { valid: true, data: input as T, errorMessage: undefined };
}

/** A connection that stands, and what its server lists. The client offers the server nothing: no sampling, no questions, no roots. */
export class McpSession {
  private listed: ReadonlyMap<string, string> = new Map();

  private constructor(
    private readonly client: Client,
    private readonly parts: SessionParts,
  ) {}

  /** Rejects when the server cannot be reached or does not speak MCP; nothing is left open then. */
  static async open(parts: SessionParts): Promise<McpSession> {
    const { serverId, transport, isLegacy, hide, logger, onChanged, onClosed } = parts;
    const client = new Client(
      { name: 'switchyard', version: '1' },
      {
        capabilities: {},
        versionNegotiation: { mode: isLegacy ? 'legacy' : 'auto', probe: { timeoutMs: CONNECT_MS / 2 } },
        inputRequired: { autoFulfill: false },
        jsonSchemaValidator: NO_VALIDATION,
        listMaxPages: MAX_PAGES,
        listChanged: { tools: { autoRefresh: false, debounceMs: DEBOUNCE_MS, onChanged } },
      },
    );
    client.onerror = ({ message }) => {
      logger.debug('an MCP server sends what it should not', {
        server: serverId,
        reason: hide(cleanText(message)).slice(0, 300),
      });
    };
    client.onclose = onClosed;
    try {
      await client.connect(transport, { timeout: CONNECT_MS });
      return new McpSession(client, parts);
    } catch (error) {
      client.onclose = undefined;
      await transport.close().catch(() => undefined);
      throw error;
    }
  }

  /** What the server lists now, as far as it can be used. */
  async list(): Promise<readonly ListedTool[]> {
    const { serverId, logger } = this.parts;
    const { tools } = await this.client.listTools(undefined, { timeout: CONNECT_MS, cacheMode: 'refresh' });
    const listing = readListing(serverId, tools);
    if (listing.unusable.length > 0) {
      const names = listing.unusable.slice(0, 20);
      logger.warn('an MCP server lists tools that cannot be used', {
        server: serverId,
        count: listing.unusable.length,
        names,
      });
    }
    this.listed = new Map(listing.tools.map(({ remoteName, digest }) => [remoteName, digest]));
    return listing.tools;
  }

  /**
   * Calls a tool as it was accepted: one that the server describes in other words by now is not called.
   * @throws ToolError for what the server says, and whatever the connection fails with
   */
  async call({ tool, args, signal, idempotencyKey, timeoutMs }: SessionCall): Promise<unknown> {
    const { hide, maxBytes } = this.parts;
    if (this.listed.get(tool.remoteName) !== tool.digest) {
      throw new ToolError('failed', `${tool.name} is not what was accepted any more; it waits for an operator.`);
    }
    const params = { name: tool.remoteName, arguments: { ...args }, _meta: { [CALL_KEY]: idempotencyKey } };
    try {
      return outputOfResult(await this.client.callTool(params, { signal, timeout: timeoutMs + MARGIN_MS }), {
        hide,
        maxBytes,
      });
    } catch (error) {
      const { name, message } = error as Error;
      if (name !== 'ProtocolError') throw error;
      throw new ToolError('failed', `The server refused the call: ${hide(cleanText(message)).slice(0, 500)}`, {
        cause: error,
      });
    }
  }

  /** Never rejects. */
  async close(): Promise<void> {
    await this.client.close().catch(() => undefined);
  }
}
