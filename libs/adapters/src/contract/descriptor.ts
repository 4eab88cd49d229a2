/** What the gateway may know of a runner kind. Nothing here loads the adapter. */
export interface RunnerDescriptor {
  /** The word used in agents.yaml and, by default, the queue pool. */
  readonly kind: string;
  readonly title: string;
  readonly capabilities: RunnerCapabilities;
  /** JSON Schema of a backend's `options`. */
  readonly optionsSchema: Readonly<Record<string, unknown>>;
}

/** What a runner kind can do; conformance holds it to this. */
export interface RunnerCapabilities {
  /** Event types the runner may emit, besides those the platform writes. */
  readonly events: readonly string[];
  /** It can stop and wait for an answer. */
  readonly pause: boolean;
  /** It offers `RunContext.clientTools` to its model and pauses for their results; implies `pause`. */
  readonly clientTools: boolean;
  /** After a lost runtime it can go on from its last checkpoint. */
  readonly resume: boolean;
  /** An abort stops it within the grace period. */
  readonly cancel: boolean;
}
