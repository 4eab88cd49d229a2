import type { ArgumentsCheck } from '#lib/domain';
import { argumentFaults, type ToolCatalog } from '#lib/tools';

/** Checks arguments that somebody changed. Those of a tool that is not known here are left to whoever makes the call. */
export function argumentsCheck(catalog: ToolCatalog, tenant: string): ArgumentsCheck {
  return (toolName, args) => {
    const tool = catalog.find(toolName, tenant);
    return tool ? argumentFaults(tool, args) : [];
  };
}
