import { type ListedTool, type Logger, type OutboundClient, ToolError } from '#lib/domain';
import { type McpSource, TOOL_DEFAULTS } from '../contract/declaration.js';
import { cleanText } from '../foreign-text.js';
import { ReadSecrets, type SecretSource } from '../secrets.js';
import type { McpSession, SessionCall } from './mcp.session.js';

export interface McpServerParts {
  readonly outbound: OutboundClient;
  readonly secrets: SecretSource;
  /** What programs are looked for in. */
  readonly programPath: string;
  readonly logger: Logger;
  /** Takes note of what the server lists. */
  readonly observe: (tools: readonly ListedTool[]) => Promise<void>;
}

/** First and longest wait before another attempt to connect, in ms. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/** Between two lists that a server asks for by saying that it has changed, in ms. */
const LEAST_LIST_MS = 2_000;

/**
 * The one connection of this process to an MCP server. It is opened when it is needed or, once watched, kept. A server
 * that fails is left alone for a while, longer each time, and holds up nobody: calls fail at once meanwhile.
 */
export class McpServer {
  private session: Promise<McpSession> | undefined;
  private readonly secrets: ReadSecrets;
  private readonly timeoutMs: number;
  private isUp = false;
  private isWatched = false;
  private isClosed = false;
  private failures = 0;
  private retryAtMs = 0;
  private listedAtMs = -Infinity;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly source: McpSource,
    private readonly parts: McpServerParts,
  ) {
    this.secrets = new ReadSecrets(parts.secrets);
    this.timeoutMs = (source.timeout_seconds ?? TOOL_DEFAULTS.timeoutSeconds) * 1_000;
  }

  get isConnected(): boolean {
    return this.isUp;
  }

  /** Connects, and keeps the connection and the list fresh from now on. */
  watch(): void {
    this.isWatched = true;
    this.schedule(0);
  }

  /** Takes what is secret out of a text. */
  hide(text: string): string {
    return this.secrets.hide(text);
  }

  /** @throws ToolError for what the server says, and whatever the connection fails with */
  async call(call: Omit<SessionCall, 'timeoutMs'>): Promise<unknown> {
    const opened = this.connected();
    const session = await opened;
    try {
      return await session.call({ ...call, timeoutMs: this.timeoutMs });
    } catch (error) {
      // A server that does not answer may have been started anew, and know nothing of this session.
      if ((error as Error).name !== 'ToolError' && !call.signal.aborted) this.drop(opened);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    const session = await this.session?.catch(() => undefined);
    await session?.close();
  }

  private connected(): Promise<McpSession> {
    if (this.session) return this.session;
    if (this.isClosed || performance.now() < this.retryAtMs) {
      return Promise.reject(new ToolError('failed', `The server ${this.source.id} is not connected.`));
    }
    const opened: Promise<McpSession> = this.open(() => this.drop(opened));
    this.session = opened;
    opened.then(
      () => this.opened(),
      (error: unknown) => this.failed(opened, error),
    );
    return opened;
  }

  private async open(onClosed: () => void): Promise<McpSession> {
    const { logger } = this.parts;
    // The SDK is loaded only where there is such a server.
    const { McpSession } = await import('./mcp.session.js');
    const { transportTo } = await import('./mcp.transports.js');
    const session = await McpSession.open({
      serverId: this.source.id,
      transport: await transportTo(this.source, { ...this.parts, secrets: this.secrets, timeoutMs: this.timeoutMs }),
      // Servers of earlier revisions may end at a question they do not know: every other attempt does not ask it.
      isLegacy: this.failures % 2 === 1,
      maxBytes: this.source.max_bytes ?? TOOL_DEFAULTS.maxBytes,
      hide: (text) => this.hide(text),
      logger,
      onChanged: () => this.schedule(LEAST_LIST_MS),
      onClosed,
    });
    try {
      await this.list(session);
      return session;
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  private async list(session: McpSession): Promise<void> {
    this.listedAtMs = performance.now();
    await this.parts.observe(await session.list());
  }

  private opened(): void {
    this.failures = 0;
    this.isUp = true;
    this.parts.logger.info('an MCP server is connected', { server: this.source.id });
    this.schedule(this.refreshMs());
  }

  private failed(opened: Promise<McpSession>, error: unknown): void {
    this.drop(opened);
    this.failures += 1;
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** Math.min(this.failures - 1, 10), LONGEST_WAIT_MS);
    this.retryAtMs = performance.now() + waitMs * (0.5 + Math.random() / 2);
    const reason = this.hide(cleanText(String((error as Error).message))).slice(0, 300);
    this.parts.logger.warn('an MCP server cannot be used', { server: this.source.id, attempts: this.failures, reason });
    if (this.isWatched) this.schedule(this.retryAtMs - performance.now() + 1);
  }

  /** The next call, or the next look, connects anew. */
  private drop(opened: Promise<McpSession>): void {
    if (this.session !== opened) return;
    this.session = undefined;
    this.isUp = false;
    opened.then((session) => session.close()).catch(() => undefined);
    if (this.isWatched) this.schedule(FIRST_WAIT_MS);
  }

  private refreshMs(): number {
    return (this.source.refresh_seconds ?? TOOL_DEFAULTS.refreshSeconds) * 1_000;
  }

  private schedule(inMs: number): void {
    if (this.isClosed) return;
    clearTimeout(this.timer);
    const earliestMs = this.session ? this.listedAtMs + LEAST_LIST_MS - performance.now() : 0;
    this.timer = setTimeout(() => void this.look(), Math.max(inMs, earliestMs, 0)).unref();
  }

  private async look(): Promise<void> {
    const known = this.session;
    if (!known && !this.isWatched) return;
    const opened = known ?? this.connected();
    try {
      const session = await opened;
      if (!known) return;
      await this.list(session);
      this.schedule(this.refreshMs());
    } catch {
      // A failed attempt to connect is told where it is made.
      if (known) this.drop(known);
    }
  }
}
