import { type Tool, type ToolCatalog, versionOf } from '../contract/tool.js';
import type { BuiltinTool } from './builtin.js';
import { extractKeyPhrasesTool } from './key-phrases.js';
import { scoreSentimentTool } from './sentiment.js';
import { summariseTool } from './summary.js';

/** A megabyte of text takes seconds; nothing they do takes longer than this. */
const TIMEOUT_MS = 120_000;

/**
 * The tools that come with the product, by name. Dictionaries and lexicons are loaded by the first text that needs them,
 * which for Chinese is near half a second of solid work and 150 MB: most processes never see one.
 */
export const BUILTIN_TOOLS: ReadonlyMap<string, Tool> = new Map(
  [summariseTool, scoreSentimentTool, extractKeyPhrasesTool].map((tool) => [tool.name, asTool(tool)]),
);

/** Tools of this process only, for every tenant. */
export const BUILTIN_CATALOG: ToolCatalog = { find: (name) => BUILTIN_TOOLS.get(name) };

function asTool(tool: BuiltinTool): Tool {
  const { name, description, parameters, idempotent } = tool;
  const version = versionOf({ name, description, parameters, idempotent });
  return { ...tool, kind: 'builtin', version, timeoutMs: TIMEOUT_MS, secretFields: [] };
}
