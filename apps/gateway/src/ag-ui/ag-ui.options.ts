/** How AG-UI, `/agui` is served. */
export interface AgUiOptions {
  /** False: no routes, and no trace of them. */
  readonly isEnabled: boolean;
}
