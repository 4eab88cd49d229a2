/** How Agent Protocol v1, and step-stream v1 on the same paths, `/ap/v1` is served. */
export interface AgentProtocolOptions {
  /** False: no routes, and no trace of them. */
  readonly isEnabled: boolean;
}
