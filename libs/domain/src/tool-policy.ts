/** What a policy says of a tool's calls: they are made, they wait until somebody approves, or they are never made. */
export const TOOL_VERDICTS = ['allow', 'confirm', 'deny'] as const;
/** One of them. */
export type ToolVerdict = (typeof TOOL_VERDICTS)[number];

/** Stands for every tool that a policy does not name. */
export const EVERY_TOOL = '*';
/** Verdicts by the name of a tool, or `*`. */
export type ToolPolicy = Readonly<Record<string, ToolVerdict>>;

/** The verdict on a tool of the task's list. Being on the list is what allows it, so silence means allow. */
export function verdictOn(toolName: string, policy: ToolPolicy = {}): ToolVerdict {
  const named = Object.hasOwn(policy, toolName) ? policy[toolName] : undefined;
  return named ?? policy[EVERY_TOOL] ?? 'allow';
}

/** Names in a policy that are none of the agent's tools: what is meant by them would not hold. */
export function unknownTools(policy: ToolPolicy, tools: readonly string[]): readonly string[] {
  return Object.keys(policy).filter((name) => name !== EVERY_TOOL && !tools.includes(name));
}

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
