import type { ListedTool, Logger, OutboundClient, StoredTool, ToolOffer, ToolStore } from '#lib/domain';
import type { McpSource } from '../contract/declaration.js';
import type { ToolOptions } from '../tool.settings.js';
import { McpServer } from './mcp.server.js';

export interface McpServersParts extends ToolOptions {
  readonly store: ToolStore;
  readonly outbound: OutboundClient;
  readonly logger: Logger;
  /** Whose records say what servers list; the name of this process. */
  readonly watcher: string;
  /** Servers are connected from the start, not when they are first called. */
  readonly isWatching: boolean;
  /** What is stored of offered tools now. */
  readonly offers: () => readonly ToolOffer[];
  /** What is stored has changed. */
  readonly onChanged: () => void;
}

interface Kept {
  readonly server: McpServer;
  readonly version: number;
}

/** The MCP servers of this process: one connection each, whatever becomes of the others. */
export class McpServers {
  private kept: ReadonlyMap<string, Kept> = new Map();

  constructor(private readonly parts: McpServersParts) {}

  /** Makes the servers those that are declared; one whose declaration has not changed keeps its connection. */
  keep(declared: readonly StoredTool[]): void {
    const before = this.kept;
    const allowed = declared.filter((stored) => this.isAllowed(stored));
    this.kept = new Map(
      allowed.map((stored) => {
        const known = before.get(stored.id);
        return [stored.id, known?.version === stored.version ? known : this.open(stored)];
      }),
    );
    for (const [id, { server }] of before) if (this.kept.get(id)?.server !== server) void server.close();
  }

  find(serverId: string): McpServer | undefined {
    return this.kept.get(serverId)?.server;
  }

  /** Each server, and whether it is connected. */
  standing(): readonly (readonly [serverId: string, isConnected: boolean])[] {
    return Array.from(this.kept, ([id, { server }]) => [id, server.isConnected] as const);
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.kept.values(), ({ server }) => server.close()));
  }

  /** A process is started only for who may ask for it, whatever was allowed when it was declared. */
  private isAllowed({ id, source, origin }: StoredTool): boolean {
    const { command } = source as unknown as McpSource;
    const { stdio, logger } = this.parts;
    if (command === undefined || stdio === 'api' || (stdio === 'file' && origin === 'file')) return true;
    logger.warn('an MCP server is not started here', { server: id, origin, setting: stdio });
    return false;
  }

  private open({ source, version }: StoredTool): Kept {
    const declared = source as unknown as McpSource;
    const server = new McpServer(declared, {
      ...this.parts,
      observe: (listed) => this.observe(declared, version, listed),
    });
    if (this.parts.isWatching) server.watch();
    return { server, version };
  }

  private async observe(source: McpSource, version: number, listed: readonly ListedTool[]): Promise<void> {
    const wanted = listed.filter(({ remoteName }) => source.tools?.includes(remoteName) ?? true);
    if (
      isKnown(
        wanted,
        this.parts.offers().filter(({ serverId }) => serverId === source.id),
      )
    )
      return;
    const audit = { tenant: '*', principal: this.parts.watcher, keyId: '', requestId: '' };
    const observation = { serverId: source.id, version, listed: wanted, trustNew: source.trust === 'auto', audit };
    if (await this.parts.store.observe(observation)) this.parts.onChanged();
  }
}

/** Most lists say what was known: nothing is asked of the database then. */
function isKnown(listed: readonly ListedTool[], offers: readonly ToolOffer[]): boolean {
  const present = offers.filter(({ isListed }) => isListed);
  const digests = new Map(present.map(({ name, offered }) => [name, offered.digest]));
  return listed.length === present.length && listed.every(({ name, digest }) => digests.get(name) === digest);
}
