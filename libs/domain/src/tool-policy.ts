/** What a policy says of a tool's calls: they are made, they wait until somebody approves, or they are never made. */
export const TOOL_VERDICTS = ['allow', 'confirm', 'deny'] as const;
/** One of them. */
export type ToolVerdict = (typeof TOOL_VERDICTS)[number];

/** A verdict on the calls whose arguments satisfy `when`, a JSON Schema; without it, on every call. */
export interface ToolRule {
  readonly when?: Readonly<Record<string, unknown>>;
  readonly then: ToolVerdict;
}

/** Stands for every tool that a policy does not name. */
export const EVERY_TOOL = '*';
/** A verdict on every call of a tool, or rules of which the first that holds counts: when none holds, the call is denied. */
export type ToolRules = ToolVerdict | readonly ToolRule[];
/** Rules by the name of a tool, or `*`. */
export type ToolPolicy = Readonly<Record<string, ToolRules>>;

/** The rules for a tool of the task's list. Being on the list is what allows it, so silence means allow. */
export function rulesFor(toolName: string, policy: ToolPolicy = {}): readonly ToolRule[] {
  const named = Object.hasOwn(policy, toolName) ? policy[toolName] : undefined;
  const every = Object.hasOwn(policy, EVERY_TOOL) ? policy[EVERY_TOOL] : undefined;
  const rules = named ?? every ?? 'allow';
  return typeof rules === 'string' ? [{ then: rules }] : rules;
}

/** What a policy says of a tool before anything is known of a call: the mildest it may say, and whether it may ask. */
export function outlookOn(
  toolName: string,
  policy?: ToolPolicy,
): { readonly verdict: ToolVerdict; readonly asks: boolean } {
  const verdicts = reachable(rulesFor(toolName, policy));
  const verdict = TOOL_VERDICTS.find((one) => verdicts.includes(one)) ?? 'deny';
  return { verdict, asks: verdicts.includes('confirm') };
}

/** Of rules behind one without a condition nothing is heard. */
function reachable(rules: readonly ToolRule[]): readonly ToolVerdict[] {
  const last = rules.findIndex(({ when }) => when === undefined);
  return (last < 0 ? rules : rules.slice(0, last + 1)).map(({ then }) => then);
}

/** Names in a policy that are none of the agent's tools: what is meant by them would not hold. */
export function unknownTools(policy: ToolPolicy, tools: readonly string[]): readonly string[] {
  return Object.keys(policy).filter((name) => name !== EVERY_TOOL && !tools.includes(name));
}

/** Bounds of one call; absent means the product's own. */
export interface ToolLimits {
  /** Bytes of JSON in UTF-8. */
  readonly argumentBytes?: number;
  /** Bytes of what it answers. */
  readonly outputBytes?: number;
}

/** Why a call is not made; `docs/events.md` lists them. */
export const TOOL_DENIALS = {
  not_on_list: 'The tool {tool} may not be called.',
  denied_by_caller: 'The caller of the task denies the tool {tool}.',
  unknown_tool: 'There is no tool {tool} now.',
  denied_by_policy: 'The policy of the agent denies this call of {tool}.',
  policy_unavailable: 'The policy of the agent cannot be evaluated, so {tool} may not be called.',
  invalid_arguments: 'The arguments are not what {tool} takes.',
  too_large: 'The arguments of {tool} are longer than they may be.',
  not_approved: 'Nobody approved this call of {tool}.',
  changed: 'This call of {tool} is not the one that was announced or approved.',
  approval_used: 'The approval of this call of {tool} is used up.',
  denied_by_user: 'Permission denied by user',
} as const;
/** The code in `tool.denied`. */
export type ToolDenial = keyof typeof TOOL_DENIALS;

/** Why a tool call did not work, for the model to read. */
export type ToolErrorCode = 'denied' | 'invalid_arguments' | 'failed' | 'timeout';

/** A tool call that did not work. The message is for the model, and is stored: no secrets. */
export class ToolError extends Error {
  override readonly name = 'ToolError';

  constructor(
    readonly code: ToolErrorCode,
    message: string,
    details: { readonly cause?: unknown } = {},
  ) {
    super(message, details);
  }
}
