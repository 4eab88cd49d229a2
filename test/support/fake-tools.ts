import { type Tool, type ToolCall, type ToolCatalog, versionOf } from '#lib/tools';
import { type ToolSource, toolsOf } from '../../apps/runtime/src/execution/tools.source.js';

/** What a tool of a test does. */
export type Work = (args: never, call: ToolCall) => Promise<unknown>;

/** A tool that takes whatever it is called with. */
export function fakeTool(name: string, work: Work, change: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `Does ${name}.`,
    parameters: {},
    idempotent: false,
    kind: 'http',
    version: versionOf({ name, change }),
    timeoutMs: 60_000,
    secretFields: [],
    execute: (args, call) => work(args as never, call),
    ...change,
  };
}

export function catalogOf(tools: readonly Tool[]): ToolCatalog {
  return { find: (name) => tools.find((tool) => tool.name === name) };
}

/** Gives every run these tools, whatever its agent has. */
export function everyRunHas(works: Readonly<Record<string, Work>>): ToolSource {
  const tools = Object.entries(works).map(([name, work]) => fakeTool(name, work));
  const source = toolsOf(catalogOf(tools), 'rt');
  return (claim, context) => source({ ...claim, allowedTools: Object.keys(works) }, context);
}
