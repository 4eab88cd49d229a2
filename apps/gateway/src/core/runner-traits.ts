/** What a runner kind declares of itself. */
export interface RunnerTraits {
  readonly kind: string;
  readonly capabilities: {
    readonly events: readonly string[];
    readonly pause: boolean;
    readonly resume: boolean;
    readonly cancel: boolean;
    readonly clientTools: boolean;
  };
}
