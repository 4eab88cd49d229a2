import { dynamicTool, jsonSchema, tool, type ToolSet } from 'ai';
import type { RunContext } from '../contract/index.js';

/** Makes one call for the model. */
export type Execute = (toolName: string, args: unknown, upstreamId: string) => Promise<unknown>;

/**
 * The tools of a run as the framework takes them: those to be confirmed ask it for an approval, and those the caller runs
 * have nothing to execute, so that it stops at their calls. A tool of the platform goes before one of the same name.
 */
export function toolSet({ tools, clientTools }: Pick<RunContext, 'tools' | 'clientTools'>, execute: Execute): ToolSet {
  const wrapped: ToolSet = {};
  for (const { name, description, parameters } of clientTools) {
    wrapped[name] = tool({ description, inputSchema: jsonSchema(parameters) });
  }
  for (const { name, description, parameters, policy } of tools.list) {
    wrapped[name] = dynamicTool({
      description,
      inputSchema: jsonSchema(parameters),
      needsApproval: policy === 'confirm' && ((args) => (tools.verdictOn?.(name, args) ?? policy) === 'confirm'),
      execute: (args, { toolCallId }) => execute(name, args, toolCallId),
    });
  }
  return wrapped;
}
