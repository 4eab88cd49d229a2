import {
  DomainError,
  isOutboundError,
  type OutboundClient,
  type StoredTool,
  type ToolOffer,
  type ToolStore,
} from '#lib/domain';
import {
  BUILTIN_TOOLS,
  type DeclarationTerms,
  type Tool,
  TOOL_DECLARATION,
  type ToolDirectory,
  targetOf,
  toolFaults,
  type ToolSource,
} from '#lib/tools';
import { auditOf, type Caller } from './caller.js';
import { assertExpected, digestOf, type Expectation, refused, sourceOf } from './declaration-edit.js';

/** JSON Schema of a declaration. */
export { TOOL_DECLARATION };

/** `ready`: can be called. `held`: waits for somebody to accept it. `withdrawn`: its server lists it no more. */
export type ToolStanding = 'ready' | 'held' | 'withdrawn' | 'disabled';

/** A tool or an MCP server, as a caller may see it. */
export interface ToolView {
  readonly id: string;
  readonly kind: Tool['kind'] | 'mcp_server';
  readonly standing: ToolStanding;
  /** Absent for servers, and for tools that cannot be called. */
  readonly tool?: Tool;
  /** The declaration it comes from; for operators only. */
  readonly stored?: StoredTool;
  /** What its server offers; for operators only. */
  readonly offer?: ToolOffer;
}

export interface ToolEditRequest {
  readonly toolId: string;
  /** A declaration as it came: nothing of it is trusted. Absent: it is to be removed. */
  readonly body?: unknown;
  readonly expects: Expectation;
  readonly requestId: string;
}

/** `isNew`: there was no such declaration before. */
export interface EditedTool {
  readonly view: ToolView;
  readonly isNew: boolean;
}

/** True for those who may see what is behind tools, and change it. */
function isToolOperator({ scopes }: Caller): boolean {
  return scopes.has('tools:write') && scopes.has('platform:admin');
}

/**
 * Tools as callers see them: those their tenant may use; for operators all, with what is declared and what is held back.
 * A change is recorded, known to this process when the call returns, and to the others at the notice.
 */
export class ToolsService {
  constructor(
    private readonly ports: { readonly store: ToolStore; readonly outbound: OutboundClient },
    private readonly directory: ToolDirectory,
    private readonly stdio: DeclarationTerms['stdio'],
  ) {}

  /** By id. */
  list(caller: Caller): readonly ToolView[] {
    const builtin = Array.from(BUILTIN_TOOLS, ([id, tool]): ToolView => ({
      id,
      kind: 'builtin',
      standing: 'ready',
      tool,
    }));
    return [...builtin, ...(isToolOperator(caller) ? this.all() : this.usableFor(caller))];
  }

  /** @throws DomainError `not_found` */
  get(caller: Caller, toolId: string): ToolView {
    const view = this.list(caller).find(({ id }) => id === toolId);
    if (!view) throw new DomainError('not_found', 'There is no such tool.');
    return view;
  }

  /** Declares a tool or a server, new or in place of what it was. @throws DomainError `invalid_request`, `precondition_failed` */
  async put(caller: Caller, { toolId, body, expects, requestId }: ToolEditRequest): Promise<EditedTool> {
    const source = sourceOf(body, toolId);
    const faults = toolFaults(source, { origin: 'api', stdio: this.stdio });
    if (faults.length > 0) throw refused(faults);
    await this.assertReachable(source as unknown as ToolSource);
    let isNew = false;
    await this.ports.store.change((tools) => {
      const current = tools.find(({ id }) => id === toolId);
      assertExpected(current, expects, 'tool');
      isNew = current === undefined;
      const details = { old: current ? digestOf(current.source) : null, new: digestOf(source), kind: source['kind'] };
      const audit = auditOf(caller, { action: 'tool.put', target: toolId, details, requestId });
      return { id: toolId, source, replaces: current?.version, audit };
    });
    await this.changed();
    return { view: this.get(caller, toolId), isNew };
  }

  /** @throws DomainError `not_found`, `precondition_failed` */
  async remove(caller: Caller, { toolId, expects, requestId }: ToolEditRequest): Promise<void> {
    await this.ports.store.change((tools) => {
      const current = tools.find(({ id }) => id === toolId);
      if (!current) throw new DomainError('not_found', 'There is no such declaration.');
      assertExpected(current, expects, 'tool');
      const details = { old: digestOf(current.source) };
      const audit = auditOf(caller, { action: 'tool.remove', target: toolId, details, requestId });
      return { id: toolId, replaces: current.version, audit };
    });
    await this.changed();
  }

  /**
   * Accepts what a server offers under this name: from now on it is offered to agents and can be called.
   * @throws DomainError `not_found`, `precondition_failed` when the server offers something else by now
   */
  async accept(caller: Caller, toolId: string, digest: string, requestId: string): Promise<ToolView> {
    await this.directory.refresh();
    const { offer } = this.get(caller, toolId);
    if (!offer) throw new DomainError('not_found', 'There is no such tool of a server.');
    const details = { server: offer.serverId, old: offer.accepted?.digest ?? null, new: digest };
    const audit = auditOf(caller, { action: 'tool.accept', target: toolId, details, requestId });
    if (!(await this.ports.store.accept(toolId, digest, audit))) {
      throw new DomainError(
        'precondition_failed',
        'The server does not offer the tool with this digest; look at it again.',
      );
    }
    await this.changed();
    return this.get(caller, toolId);
  }

  /** Where its requests would go is looked at now, and again with each request. */
  private async assertReachable(source: ToolSource): Promise<void> {
    const target = targetOf(source);
    if (!target) return;
    try {
      await this.ports.outbound.check(target.url, target.purpose);
    } catch (error) {
      // A name that has no address at the moment may have one tomorrow.
      if (!isOutboundError(error) || error.code !== 'refused') return;
      throw refused([{ path: target.path, message: 'is no address that requests may go to' }], 'refused');
    }
  }

  private async changed(): Promise<void> {
    this.directory.announce();
    // The change is made; should looking fail now, the notice or the timer brings it.
    await this.directory.refresh().catch(() => undefined);
  }

  private usableFor({ tenant }: Caller): readonly ToolView[] {
    return Array.from(this.directory.usable()).flatMap(([id, { tool, tenants }]) =>
      tenants === undefined || tenants.includes(tenant)
        ? [{ id, kind: tool.kind, standing: 'ready' as const, tool }]
        : [],
    );
  }

  private all(): readonly ToolView[] {
    const { tools, offers } = this.directory.stored();
    const usable = this.directory.usable();
    const declared = tools.map((stored): ToolView => {
      const { kind, enabled } = stored.source as unknown as ToolSource;
      const tool = usable.get(stored.id)?.tool;
      const standing = enabled === false ? 'disabled' : 'ready';
      return { id: stored.id, kind: kind === 'mcp' ? 'mcp_server' : kind, standing, stored, ...(tool ? { tool } : {}) };
    });
    const offered = offers.map((offer): ToolView => {
      const tool = usable.get(offer.name)?.tool;
      return { id: offer.name, kind: 'mcp', standing: standingOf(offer, tool), offer, ...(tool ? { tool } : {}) };
    });
    return [...declared, ...offered];
  }
}

function standingOf({ isListed, offered, accepted }: ToolOffer, tool: Tool | undefined): ToolStanding {
  if (!isListed) return 'withdrawn';
  if (accepted?.digest !== offered.digest) return 'held';
  return tool ? 'ready' : 'disabled';
}
