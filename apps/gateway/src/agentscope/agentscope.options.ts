/** How AgentScope's remote subagents, `/tasks` is served. */
export interface AgentScopeOptions {
  /** False: no routes, and no trace of them. */
  readonly isEnabled: boolean;
}
