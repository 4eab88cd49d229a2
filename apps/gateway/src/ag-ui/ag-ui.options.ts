import type { ClientToolMode } from '#lib/domain';
import type { ViewOptions } from '#lib/protocol/ag-ui';

/** How AG-UI, `/agui` is served. */
export interface AgUiOptions {
  /** False: no routes, and no trace of them. */
  readonly isEnabled: boolean;
  readonly view: ViewOptions;
  /** Undefined: as long as the task may. */
  readonly runTimeoutMs: number | undefined;
  readonly toolMode: ClientToolMode;
  readonly interruptsOnDisconnect: boolean;
  readonly agentHeader: string;
  readonly contextHeaders: readonly string[];
  /** A module to load; see `AgUiExtensions`. */
  readonly extensions: string | undefined;
}

/** Header fields that pages of other origins have to be allowed to send. */
export function requestHeadersOf({ isEnabled, agentHeader, contextHeaders }: AgUiOptions): readonly string[] {
  return isEnabled ? [agentHeader, ...contextHeaders] : [];
}
