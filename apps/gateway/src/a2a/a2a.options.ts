/** How A2A 1.0 and 0.3, `/a2a` is served. */
export interface A2aOptions {
  /** False: no routes, and no trace of them. */
  readonly isEnabled: boolean;
}
