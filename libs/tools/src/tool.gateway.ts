import {
  outlookOn,
  TOOL_DENIALS,
  type ToolDenial,
  ToolError,
  type ToolLimits,
  type ToolPolicy,
  type ToolVerdict,
} from '#lib/domain';
import { digestCall } from '#lib/platform';
import type { Approval, Approvals, CallToApprove } from './approvals.js';
import { argumentFault } from './arguments.js';
import type { CallingRun, Tool, ToolCatalog } from './contract/tool.js';
import { boundOutput, DEFAULT_LIMITS, isWithin } from './limits.js';
import { type CallPolicy, compilePolicy } from './policy.js';

/** What one run may call, and under which conditions. */
export interface ToolRights {
  /** Names on the task's list. */
  readonly allowed: readonly string[];
  /** Names the caller of the task denies, whoever else allows them. */
  readonly denied?: readonly string[];
  readonly policy?: ToolPolicy;
  readonly limits?: ToolLimits;
  readonly approvals: Approvals;
}

/** A tool of the list that is not denied. `confirm`: a call may have to be approved; `verdictOn` says which. */
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

/** A call somebody wants made. */
export type WantedCall = CallToApprove;

/** What was decided about a call. */
export type ToolDecision = Allowed | Denied;

interface Decided {
  readonly call: WantedCall;
  /** Of tool and arguments. */
  readonly digest: string;
  /** Version of the policy that was asked. */
  readonly policyVersion: string;
}

export interface Allowed extends Decided {
  readonly outcome: 'allowed';
  readonly tool: Tool;
  readonly approval?: Approval;
  /** The approval was used by the call that this one repeats. */
  readonly isRepeat?: true;
}

export interface Denied extends Decided {
  readonly outcome: 'denied';
  readonly tool?: Tool;
  readonly code: ToolDenial;
  /** For the model to read. */
  readonly reason: string;
}

/**
 * The one way from a run to a tool. In this order: what is not on the task's list is denied, what its caller denies, what
 * the agent's policy denies for these arguments, or wants approved and nobody did to the letter, arguments the tool does
 * not take, and arguments over their bound. What cannot be evaluated is denied.
 */
export class ToolGateway {
  private judged: CallPolicy | undefined;
  private readonly allowed: ReadonlySet<string>;
  private readonly limits: Required<ToolLimits>;

  constructor(
    private readonly rights: ToolRights,
    private readonly parts: ToolParts,
  ) {
    this.allowed = new Set(rights.allowed);
    this.limits = { ...DEFAULT_LIMITS, ...rights.limits };
  }

  /** The tools a run is told of. */
  get list(): readonly OfferedTool[] {
    return this.rights.allowed.flatMap((toolName) => {
      const tool = this.isListed(toolName) ? this.find(toolName) : undefined;
      const { verdict, asks } = outlookOn(toolName, this.rights.policy);
      if (!tool || verdict === 'deny') return [];
      const { name, description, parameters, idempotent } = tool;
      return [{ name, description, parameters, idempotent, policy: asks ? 'confirm' : 'allow' } as const];
    });
  }

  /** True for a tool of the task's list: its calls are ours to decide and to make. */
  has(toolName: string): boolean {
    return this.allowed.has(toolName);
  }

  /** What the policy says of a call, for runners that ask before they call. */
  verdictOn(toolName: string, args: unknown): ToolVerdict {
    return this.isListed(toolName) ? (this.policy.verdictOn(toolName, args) ?? 'deny') : 'deny';
  }

  /** Decides about one call, and uses up the approval it needs. */
  decide(call: WantedCall): ToolDecision {
    const decided = this.identify(call);
    const { toolName } = call;
    if (!this.allowed.has(toolName)) return { ...decided, ...denial('not_on_list', toolName) };
    if (this.rights.denied?.includes(toolName)) return { ...decided, ...denial('denied_by_caller', toolName) };
    const tool = this.find(toolName);
    if (!tool) return { ...decided, ...denial('unknown_tool', toolName) };
    const verdict = this.policy.verdictOn(toolName, call.args);
    const refused = this.refusal(verdict, call, tool);
    if (refused) return { ...decided, ...refused, tool };
    return verdict === 'confirm' ? this.confirmed(decided, tool) : { ...decided, outcome: 'allowed', tool };
  }

  /** A call that is not the one that was announced. */
  changed(call: WantedCall): Denied {
    const { policyVersion, digest } = this.identify(call);
    return { ...denial('changed', call.toolName), call, digest, policyVersion };
  }

  /** Makes a call that was allowed. Resolves with JSON, or a stream. @throws ToolError, or the signal's reason when aborted. */
  async perform({ call, tool }: Allowed): Promise<unknown> {
    const { run, taskKey } = this.parts;
    const { toolCallId, repeats = toolCallId } = call;
    const made = { ...run, toolCallId, idempotencyKey: `${taskKey}.${repeats}` };
    try {
      const output = await tool.execute(call.args as Readonly<Record<string, unknown>>, made);
      return boundOutput(output, this.limits.outputBytes);
    } catch (cause) {
      run.signal.throwIfAborted();
      if ((cause as Error).name === 'ToolError') throw cause;
      throw new ToolError('failed', (cause as Error).message, { cause });
    }
  }

  private identify(call: WantedCall): Decided {
    return { call, digest: digestCall(call.toolName, call.args), policyVersion: this.policy.version };
  }

  /** Before an approval is used up: a call that cannot be made uses none. */
  private refusal(verdict: ToolVerdict | undefined, { toolName, args }: WantedCall, tool: Tool): Refusal | undefined {
    if (verdict === undefined) return denial('policy_unavailable', toolName);
    if (verdict === 'deny') return denial('denied_by_policy', toolName);
    const fault = argumentFault(tool, args);
    if (fault !== undefined) return { ...denial('invalid_arguments', toolName), reason: fault };
    return isWithin(args, this.limits.argumentBytes) ? undefined : denial('too_large', toolName);
  }

  private confirmed(decided: Decided, tool: Tool): ToolDecision {
    const { approvals } = this.rights;
    const again = tool.idempotent ? approvals.usedFor(decided.call) : undefined;
    if (again) return { ...decided, outcome: 'allowed', tool, approval: again, isRepeat: true };
    const taken = approvals.take(decided.call);
    if (typeof taken === 'string') return { ...decided, ...denial(taken, decided.call.toolName), tool };
    return { ...decided, outcome: 'allowed', tool, approval: taken };
  }

  /** Made when it is asked: most runs call no tool. */
  private get policy(): CallPolicy {
    return (this.judged ??= compilePolicy(this.rights.policy));
  }

  private isListed(toolName: string): boolean {
    return this.allowed.has(toolName) && this.rights.denied?.includes(toolName) !== true;
  }

  private find(toolName: string): Tool | undefined {
    return this.parts.catalog.find(toolName, this.parts.run.tenant);
  }
}

type Refusal = Pick<Denied, 'outcome' | 'code' | 'reason'>;

function denial(code: ToolDenial, toolName: string): Refusal {
  return { outcome: 'denied', code, reason: TOOL_DENIALS[code].replace('{tool}', toolName.slice(0, 64)) };
}

/** A call that was allowed and is not to be made after all. */
export function denied({ call, digest, policyVersion, tool }: Allowed, code: ToolDenial): Denied {
  return { call, digest, policyVersion, tool, ...denial(code, call.toolName) };
}

/** What a denial is to the one who called. */
export function errorOf({ code, reason }: Denied): ToolError {
  return new ToolError(code === 'invalid_arguments' || code === 'too_large' ? 'invalid_arguments' : 'denied', reason);
}
