/** A tool the caller of a task runs itself. `parameters` is a JSON Schema of an object. */
export interface ClientTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/**
 * What the tools of a caller are beside those of the agent. `refuse`: a clash of names, or a runner that cannot hand out
 * calls, refuses the task. The others take what comes as an offer, of which a runner that cannot use it makes no use:
 * `client_first`: of two tools of one name the caller's is used. `client_only`: the agent has no other tools.
 * `agent_only`: the caller's are left out.
 */
export const CLIENT_TOOL_MODES = ['refuse', 'client_first', 'client_only', 'agent_only'] as const;
/** One of the modes. */
export type ClientToolMode = (typeof CLIENT_TOOL_MODES)[number];

/** How a caller narrows the tools of a task; both absent: not at all. */
export interface ToolWishes {
  /** Only these; absent: whatever the agent and its route give. */
  readonly allow?: readonly string[];
  /** None of these, whoever else allows them. */
  readonly deny?: readonly string[];
}

/** The tools of an agent on one of its routes, in the agent's order. */
export function toolsOn(agentTools: readonly string[], routeTools: readonly string[] | undefined): readonly string[] {
  return routeTools ? agentTools.filter((tool) => routeTools.includes(tool)) : agentTools;
}

/** What is left of the tools a route gives: nobody can add one, and a denial beats everything. */
export function effectiveTools(given: readonly string[], { allow, deny = [] }: ToolWishes): readonly string[] {
  return given.filter((tool) => (allow === undefined || allow.includes(tool)) && !deny.includes(tool));
}
