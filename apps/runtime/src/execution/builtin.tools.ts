import type { ToolClient } from '#lib/adapters/contract';
import type { Claim } from '#lib/domain';
import { ToolGateway } from '#lib/tools';
import { Approvals } from './approvals.js';
import type { ToolContext } from './tool-access.js';

/** The built-in tools a run may call; the tool gateway denies every other. */
export function builtinTools(claim: Claim, context: ToolContext): ToolClient {
  const approvals = new Approvals(claim.asked);
  return new ToolGateway(
    {
      allowed: claim.allowedTools,
      takeApproval: (toolName, args) => approvals.take(toolName, args),
      ...(claim.policy.toolPolicy ? { policy: claim.policy.toolPolicy } : {}),
    },
    context,
  );
}
