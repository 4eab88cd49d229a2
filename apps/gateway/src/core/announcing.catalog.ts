import type { Tool, ToolCatalog } from '#lib/tools';

/** The same tools, each of which says that it is about to be called once everything has let the call through. */
export function announcing(catalog: ToolCatalog, announce: () => Promise<void>): ToolCatalog {
  return {
    find(name, tenant) {
      const tool = catalog.find(name, tenant);
      if (!tool) return undefined;
      const execute: Tool['execute'] = async (args, call) => {
        await announce();
        return tool.execute(args, call);
      };
      const { description, parameters, idempotent, kind, version, timeoutMs, secretFields } = tool;
      return { name: tool.name, description, parameters, idempotent, kind, version, timeoutMs, secretFields, execute };
    },
  };
}
