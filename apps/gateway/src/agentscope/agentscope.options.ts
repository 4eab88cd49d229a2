/** How AgentScope's remote subagents, `/tasks`, are served. */
export interface AgentScopeOptions {
  /** False: no routes, and no trace of them. */
  readonly isEnabled: boolean;
  /** False: clients poll; events are refused. */
  readonly isStreaming: boolean;
  /** False: pauses are neither shown nor answered here. */
  readonly isAnswerable: boolean;
  /** How long a stream, or a wait, goes on at most, in ms. */
  readonly maxHoldMs: number;
  /** True: what is unknown is answered with the statuses of AgentScope's own server. */
  readonly isStrict: boolean;
}

/** The options among the providers of the module. */
export class AgentScopeSettings {
  constructor(readonly options: AgentScopeOptions) {}
}
