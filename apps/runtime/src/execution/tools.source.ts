import type { ToolClient } from '#lib/adapters/contract';
import type { FindSecretFields } from '#lib/execution';
import { type ToolCatalog, ToolGateway } from '#lib/tools';
import { Approvals } from './approvals.js';
import type { ToolSource } from './tool-access.js';

/** The tools of a catalog that a run may call; the tool gateway denies every other. */
export function toolsOf(catalog: ToolCatalog): ToolSource {
  return (claim, { input, signal }): ToolClient => {
    const approvals = new Approvals(claim.asked);
    return new ToolGateway(
      {
        allowed: claim.allowedTools,
        takeApproval: (toolName, args) => approvals.take(toolName, args),
        ...(claim.policy.toolPolicy ? { policy: claim.policy.toolPolicy } : {}),
      },
      { catalog, taskKey: claim.taskKey, run: { input, signal, tenant: claim.tenant, taskId: claim.taskId } },
    );
  };
}

/** The arguments of those tools that must not be shown. */
export function secretFieldsOf(catalog: ToolCatalog): FindSecretFields {
  return (toolName, tenant) => catalog.find(toolName, tenant)?.secretFields ?? [];
}
