import { ToolError, type ToolPolicy, verdictOn } from '#lib/domain';
import { argumentFault } from './arguments.js';
import type { BuiltinCall, BuiltinTool } from './builtin/builtin.js';
import { BUILTIN_TOOLS } from './builtin/catalog.js';

/** What one run may call, and under which conditions. */
export interface ToolRights {
  /** Names on the task's list. */
  readonly allowed: readonly string[];
  readonly policy?: ToolPolicy;
  /** Uses up the approval of exactly this call; false when nobody gave one. */
  takeApproval(toolName: string, args: unknown): boolean;
}

/** A tool of the list that is not denied. */
export interface OfferedTool extends Pick<BuiltinTool, 'name' | 'description' | 'parameters' | 'idempotent'> {
  readonly policy: 'allow' | 'confirm';
}

/**
 * The one way from a run to a tool. It refuses what is not on the list, what the policy denies, arguments the tool does
 * not take, and a call that needs an approval and is not, to the letter, what somebody approved.
 */
export class ToolGateway {
  readonly list: readonly OfferedTool[];
  private readonly tools: ReadonlyMap<string, { readonly tool: BuiltinTool; readonly policy: 'allow' | 'confirm' }>;

  constructor(
    private readonly rights: ToolRights,
    private readonly context: BuiltinCall,
  ) {
    this.tools = new Map(rights.allowed.flatMap((name) => offer(name, rights.policy)));
    this.list = Array.from(this.tools.values(), ({ tool, policy }) => {
      const { name, description, parameters, idempotent } = tool;
      return { name, description, parameters, idempotent, policy };
    });
  }

  /** Resolves with the tool's output, JSON. @throws ToolError, or the signal's reason when aborted. */
  async call(toolName: string, args: unknown): Promise<unknown> {
    const tool = this.admit(toolName, args);
    try {
      return await tool.execute(args as Readonly<Record<string, unknown>>, this.context);
    } catch (cause) {
      this.context.signal.throwIfAborted();
      throw new ToolError('failed', (cause as Error).message, { cause });
    }
  }

  private admit(toolName: string, args: unknown): BuiltinTool {
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
  name: string,
  rules: ToolPolicy | undefined,
): [string, { tool: BuiltinTool; policy: 'allow' | 'confirm' }][] {
  const tool = BUILTIN_TOOLS.get(name);
  const policy = verdictOn(name, rules);
  return tool === undefined || policy === 'deny' ? [] : [[name, { tool, policy }]];
}
