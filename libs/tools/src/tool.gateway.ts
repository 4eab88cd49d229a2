import { ToolError, type ToolPolicy, verdictOn } from '#lib/domain';
import { argumentFault } from './arguments.js';
import type { CallingRun, Tool, ToolCatalog } from './contract/tool.js';

/** What one run may call, and under which conditions. */
export interface ToolRights {
  /** Names on the task's list. */
  readonly allowed: readonly string[];
  readonly policy?: ToolPolicy;
  /** Uses up the approval of exactly this call; false when nobody gave one. */
  takeApproval(toolName: string, args: unknown): boolean;
}

/** A tool of the list that is not denied. */
export interface OfferedTool extends Pick<Tool, 'name' | 'description' | 'parameters' | 'idempotent'> {
  readonly policy: 'allow' | 'confirm';
}

/** What calls are made with. */
export interface ToolParts {
  readonly catalog: ToolCatalog;
  readonly run: CallingRun;
  /** Key of the task, unique over all tenants: the first part of every idempotency key. */
  readonly taskKey: string;
}

/**
 * The one way from a run to a tool. It refuses what is not on the list, what the policy denies, arguments the tool does
 * not take, and a call that needs an approval and is not, to the letter, what somebody approved.
 */
export class ToolGateway {
  readonly list: readonly OfferedTool[];
  private readonly tools: ReadonlyMap<string, { readonly tool: Tool; readonly policy: 'allow' | 'confirm' }>;

  constructor(
    private readonly rights: ToolRights,
    private readonly parts: ToolParts,
  ) {
    this.tools = new Map(rights.allowed.flatMap((name) => offer(parts, name, rights.policy)));
    this.list = Array.from(this.tools.values(), ({ tool, policy }) => {
      const { name, description, parameters, idempotent } = tool;
      return { name, description, parameters, idempotent, policy };
    });
  }

  /** Resolves with the tool's output, JSON. @throws ToolError, or the signal's reason when aborted. */
  async call(toolName: string, args: unknown, toolCallId: string): Promise<unknown> {
    const tool = this.admit(toolName, args);
    const { run, taskKey } = this.parts;
    const call = { ...run, toolCallId, idempotencyKey: `${taskKey}.${toolCallId}` };
    try {
      return await tool.execute(args as Readonly<Record<string, unknown>>, call);
    } catch (cause) {
      run.signal.throwIfAborted();
      throw new ToolError('failed', (cause as Error).message, { cause });
    }
  }

  private admit(toolName: string, args: unknown): Tool {
    const offered = this.tools.get(toolName);
    if (!offered) throw new ToolError('denied', `The tool ${toolName.slice(0, 64)} may not be called.`);
    const fault = argumentFault(offered.tool, args);
    if (fault !== undefined) throw new ToolError('invalid_arguments', fault);
    if (offered.policy === 'confirm' && !this.rights.takeApproval(toolName, args)) {
      throw new ToolError('denied', `Nobody approved this call of ${toolName}.`);
    }
    return offered.tool;
  }
}

function offer(
  { catalog, run }: ToolParts,
  name: string,
  rules: ToolPolicy | undefined,
): [string, { tool: Tool; policy: 'allow' | 'confirm' }][] {
  const tool = catalog.find(name, run.tenant);
  const policy = verdictOn(name, rules);
  return tool === undefined || policy === 'deny' ? [] : [[name, { tool, policy }]];
}
