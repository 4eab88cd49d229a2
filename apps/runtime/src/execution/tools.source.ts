import type { Claim } from '#lib/domain';
import type { FindSecretFields } from '#lib/execution';
import { type CallingRun, rightsOf, type ToolActor, type ToolCatalog, ToolGateway } from '#lib/tools';
import type { ToolAccess } from './run.tools.js';

/** The tools an agent's run may use. `context.input` is what can be read of its input as text. */
export type ToolSource = (claim: Claim, context: Pick<CallingRun, 'input' | 'signal'>) => ToolAccess;

/** The tools of a catalog as a run may call them; the tool gateway denies every other. */
export function toolsOf(catalog: ToolCatalog, runtimeId: string): ToolSource {
  return (claim, { input, signal }) => {
    const { taskKey, tenant, taskId } = claim;
    const parts = { catalog, taskKey, run: { input, signal, tenant, taskId } };
    return { gateway: new ToolGateway(rightsOf(claim), parts), actor: actorOf(claim, runtimeId) };
  };
}

function actorOf(claim: Claim, runtimeId: string): ToolActor {
  const { tenant, createdBy: principal, agentId, taskKey, taskId, runNo, backendVersion } = claim;
  return { tenant, principal, agentId, runtimeId, taskKey, taskId, runNo, backendVersion };
}

/** The arguments of those tools that must not be shown. */
export function secretFieldsOf(catalog: ToolCatalog): FindSecretFields {
  return (toolName, tenant) => catalog.find(toolName, tenant)?.secretFields ?? [];
}
