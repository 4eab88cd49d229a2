import { type Tool, type ToolCatalog, versionOf } from '../contract/tool.js';
import type { BuiltinTool } from './builtin.js';
import { loadChinese, loadSegmenter } from './chinese.js';
import { loadEnglish } from './english.js';
import { extractKeyPhrasesTool } from './key-phrases.js';
import { scoreSentimentTool } from './sentiment.js';
import { summariseTool } from './summary.js';

/** A megabyte of text takes seconds; nothing they do takes longer than this. */
const TIMEOUT_MS = 120_000;

/** The tools that come with the product, by name. */
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

/**
 * Loads dictionaries and lexicons, about half a second of solid work and 150 MB. A process that hosts runs calls it at
 * start; otherwise the first text pays for it and holds up its neighbours.
 */
export function prepareBuiltinTools(): void {
  loadSegmenter();
  loadChinese();
  loadEnglish();
}
