import type {
  EventBus,
  Logger,
  Metrics,
  OutboundClient,
  StoredTool,
  ToolOffer,
  ToolState,
  ToolStore,
} from '#lib/domain';
import { Refresher } from '#lib/platform';
import { Breaker, type BreakerState } from './breaker.js';
import { BUILTIN_TOOLS } from './builtin/catalog.js';
import type { HttpSource, McpSource, ToolSource } from './contract/declaration.js';
import { type Tool, ToolCatalog } from './contract/tool.js';
import { httpTool } from './http/http.tool.js';
import { McpServers } from './mcp/mcp.servers.js';
import { mcpTool } from './mcp/mcp.tool.js';
import type { ToolOptions } from './tool.settings.js';

export interface ToolDirectoryParts extends ToolOptions {
  readonly store: ToolStore;
  readonly bus: EventBus;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly outbound: OutboundClient;
  /** Name of this process, in records of what servers list. */
  readonly watcher: string;
  /** MCP servers are connected from the start, and looked at; otherwise when one of their tools is called. */
  readonly isWatching: boolean;
}

/** A tool that can be called, and for whom. */
export interface UsableTool {
  readonly tool: Tool;
  /** Undefined: every tenant. */
  readonly tenants: readonly string[] | undefined;
}

interface Entry extends UsableTool {
  /** Of what it was made from. */
  readonly madeFrom: string;
  readonly breaker: Breaker;
}

const NOTHING: ToolState = { revision: '', tools: [], offers: [] };
const STATES: Readonly<Record<BreakerState, number>> = { closed: 0, half_open: 1, open: 2 };

/** The tools as this process knows them, at most five seconds old: those that come with the product, and declared ones. */
export class ToolDirectory extends ToolCatalog {
  private state = NOTHING;
  private entries: ReadonlyMap<string, Entry> = new Map();
  private readonly refresher: Refresher;
  private readonly servers: McpServers;

  constructor(private readonly parts: ToolDirectoryParts) {
    super();
    this.refresher = new Refresher({ ...parts, channel: 'tools', load: () => this.load() });
    this.servers = new McpServers({
      ...parts,
      offers: () => this.state.offers,
      onChanged: () => {
        this.announce();
        this.refresh().catch(() => undefined);
      },
    });
    parts.metrics.gauge('switchyard_mcp_server_connected', () =>
      this.servers.standing().map(([server, isConnected]) => [{ server }, isConnected ? 1 : 0] as const),
    );
    parts.metrics.gauge('switchyard_tool_breaker_state', () =>
      Array.from(this.entries, ([name, { breaker }]) => [{ tool: name }, STATES[breaker.state]] as const),
    );
  }

  /** Loads the tools and keeps them fresh. */
  open(): Promise<void> {
    return this.refresher.open();
  }

  override find(name: string, tenant: string): Tool | undefined {
    // A name that comes with the product means that and nothing else.
    const builtin = BUILTIN_TOOLS.get(name);
    if (builtin) return builtin;
    const entry = this.entries.get(name);
    return entry && isFor(entry, tenant) ? entry.tool : undefined;
  }

  /** Declared tools that can be called, by name. */
  usable(): ReadonlyMap<string, UsableTool> {
    return this.entries;
  }

  /** What is stored, as it was read last. */
  stored(): ToolState {
    return this.state;
  }

  /** Looks now. What is committed before the call is seen after it. */
  refresh(): Promise<void> {
    return this.refresher.refresh();
  }

  /** Tells every process, this one too, to look again. */
  announce(): void {
    this.refresher.announce();
  }

  /** Ends connections, and servers that are processes of ours. */
  async close(): Promise<void> {
    this.refresher.close();
    await this.servers.close();
  }

  private async load(): Promise<void> {
    const state = await this.parts.store.load(this.state.revision === '' ? undefined : this.state.revision);
    if (!state) return;
    this.state = state;
    const enabled = state.tools.filter(({ source }) => source['enabled'] !== false);
    this.servers.keep(enabled.filter(({ source }) => source['kind'] === 'mcp'));
    this.entries = new Map(
      enabled.flatMap((stored) => this.entriesOf(stored)).map((entry) => [entry.tool.name, entry]),
    );
  }

  private entriesOf({ source, version }: StoredTool): readonly Entry[] {
    const declared = source as unknown as ToolSource;
    if (declared.kind === 'http')
      return this.entry(declared.id, String(version), declared.tenants, this.makeHttp(declared));
    const offers = this.state.offers.filter(({ serverId }) => serverId === declared.id).filter(isCallable);
    return offers.flatMap((offer) =>
      this.entry(offer.name, `${version} ${offer.accepted.digest}`, declared.tenants, this.makeMcp(declared, offer)),
    );
  }

  /** What has not changed stays the same object: what is known of its outages stays true. */
  private entry(...[name, madeFrom, tenants, make]: [string, string, UsableTool['tenants'], Make]): readonly Entry[] {
    const before = this.entries.get(name);
    if (before?.madeFrom === madeFrom) return [before];
    const breaker = new Breaker();
    try {
      const tool = make(breaker);
      return tool ? [{ tool, tenants, madeFrom, breaker }] : [];
    } catch (error) {
      // It was checked when it was declared, perhaps by a version that took more.
      this.parts.logger.warn('a declared tool cannot be used', { tool: name, error });
      return [];
    }
  }

  private makeHttp(source: HttpSource): Make {
    return (breaker) => httpTool(source, { ...this.parts, breaker });
  }

  private makeMcp(source: McpSource, { accepted }: AcceptedOffer): Make {
    return (breaker) => {
      const server = this.servers.find(source.id);
      return server && mcpTool(source, accepted, { server, breaker });
    };
  }
}

type Make = (breaker: Breaker) => Tool | undefined;
type AcceptedOffer = ToolOffer & Required<Pick<ToolOffer, 'accepted'>>;

/** What a server lists in the very words that somebody has accepted. */
function isCallable(offer: ToolOffer): offer is AcceptedOffer {
  return offer.isListed && offer.accepted?.digest === offer.offered.digest;
}

function isFor({ tenants }: UsableTool, tenant: string): boolean {
  return tenants === undefined || tenants.includes(tenant);
}
