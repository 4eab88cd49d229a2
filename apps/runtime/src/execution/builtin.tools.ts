import type { ToolClient } from '#lib/adapters/contract';
import type { Claim } from '#lib/domain';
import { ToolGateway } from '#lib/tools';
import { Approvals } from './approvals.js';

/** The built-in tools a run may call; the tool gateway denies every other. */
export function builtinTools(claim: Claim, signal: AbortSignal): ToolClient {
  const approvals = new Approvals(claim.asked);
  let input: { readonly value: unknown } | undefined;
  return new ToolGateway(
    {
      allowed: claim.allowedTools,
      takeApproval: (toolName, args) => approvals.take(toolName, args),
      ...(claim.policy.toolPolicy ? { policy: claim.policy.toolPolicy } : {}),
    },
    {
      signal,
      // A large input is parsed only for those who look at it.
      get input() {
        input ??= { value: JSON.parse(claim.input) as unknown };
        return input.value;
      },
    },
  );
}
