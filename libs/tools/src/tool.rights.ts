import type { RunPolicy, AskedCall } from '#lib/domain';
import { Approvals } from './approvals.js';
import type { ToolRights } from './tool.gateway.js';

/** What is stored of a task that decides what its runs may call. */
export interface StoredRights {
  readonly allowedTools: readonly string[];
  /** JSON text exactly as sent. */
  readonly context: string;
  readonly policy: RunPolicy;
  readonly asked: readonly AskedCall[];
}

/** The rights of a task's newest run, of which an approval is used once: made anew for each run, not for each call. */
export function rightsOf(stored: StoredRights): ToolRights {
  const { toolPolicy, toolLimits } = stored.policy;
  return {
    allowed: stored.allowedTools,
    denied: deniedIn(stored.context),
    approvals: new Approvals(stored.asked),
    ...(toolPolicy ? { policy: toolPolicy } : {}),
    ...(toolLimits ? { limits: toolLimits } : {}),
  };
}

/** What the caller denied was taken from the list at submission; here it is denied for what it is, once more. */
function deniedIn(context: string): readonly string[] {
  if (!context.includes('"deny_rules"')) return [];
  const { deny_rules } = JSON.parse(context) as {
    readonly deny_rules?: readonly { readonly tool_name: string }[] | null;
  };
  return (deny_rules ?? []).map(({ tool_name }) => tool_name);
}
