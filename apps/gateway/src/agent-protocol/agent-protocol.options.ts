/** How Agent Protocol v1, and step-stream v1 on the same paths, `/ap/v1` is served. */
export abstract class AgentProtocolOptions {
  /** False: no routes, and no trace of them. */
  abstract readonly isEnabled: boolean;
  /** The agent of tasks that name none; absent: the one that is the default of all. */
  abstract readonly agentId: string | undefined;
  /** How long the execution of a step waits for one. */
  abstract readonly stepWaitMs: number;
}
