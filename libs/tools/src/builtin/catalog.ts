import type { BuiltinTool } from './builtin.js';
import { loadChinese, loadSegmenter } from './chinese.js';
import { loadEnglish } from './english.js';
import { extractKeyPhrasesTool } from './key-phrases.js';
import { scoreSentimentTool } from './sentiment.js';
import { summariseTool } from './summary.js';

/** The tools that come with the product, by name. */
export const BUILTIN_TOOLS: ReadonlyMap<string, BuiltinTool> = new Map(
  [summariseTool, scoreSentimentTool, extractKeyPhrasesTool].map((tool) => [tool.name, tool]),
);

/**
 * Loads dictionaries and lexicons, about half a second of solid work and 150 MB. A process that hosts runs calls it at
 * start; otherwise the first text pays for it and holds up its neighbours.
 */
export function prepareBuiltinTools(): void {
  loadSegmenter();
  loadChinese();
  loadEnglish();
}
