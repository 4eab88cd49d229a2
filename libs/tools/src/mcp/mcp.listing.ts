import type { ListedTool } from '#lib/domain';
import { parameterFaults } from '../contract/declaration.check.js';
import { nameOfMcpTool } from '../contract/declaration.js';
import { versionOf } from '../contract/tool.js';
import { cleanText, cleanValue } from '../foreign-text.js';

/** A tool as it comes from a server. */
export interface RemoteTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: unknown;
}

/** Tools of one server that are looked at. */
export const MAX_TOOLS = 256;
/** Characters of a description that models are shown. */
const MAX_DESCRIPTION = 4_096;
/** Units of UTF-16 of all that a server says of one tool, as JSON. */
const MAX_TEXT = 65_536;

/** What can be used of a list, and the names of what cannot. */
export interface Listing {
  readonly tools: readonly ListedTool[];
  readonly unusable: readonly string[];
}

/** Reads a server's list as what it is: text of somebody who may want us harm. */
export function readListing(serverId: string, remote: readonly RemoteTool[]): Listing {
  const read = remote.slice(0, MAX_TOOLS).map((tool) => ({ tool, listed: listedTool(serverId, tool) }));
  const names = read.map(({ listed }) => listed?.name);
  // Two names that become one mean neither: which of them was accepted could not be told.
  const isOnly = (name: string): boolean => names.indexOf(name) === names.lastIndexOf(name);
  const tools = read.flatMap(({ listed }) => (listed && isOnly(listed.name) ? [listed] : []));
  const good = new Set(tools.map(({ remoteName }) => remoteName));
  const unusable = read.filter(({ tool }) => !good.has(tool.name)).map(({ tool }) => cleanText(tool.name, 100));
  return { tools, unusable };
}

function listedTool(serverId: string, tool: RemoteTool): ListedTool | undefined {
  const { name: remoteName, title, description, inputSchema, outputSchema, annotations } = tool;
  const name = nameOfMcpTool(serverId, remoteName);
  if (name === undefined) return undefined;
  try {
    const said = { remoteName, title, description, inputSchema, outputSchema, annotations };
    if (JSON.stringify(said).length > MAX_TEXT) return undefined;
    const parameters = cleanValue(inputSchema, (text) => text) as ListedTool['parameters'];
    if (parameterFaults(parameters).length > 0) return undefined;
    const shown = cleanText(description ?? title ?? '', MAX_DESCRIPTION);
    return { name, remoteName, description: shown, parameters, digest: versionOf(said) };
  } catch {
    // Too deep to be written or read.
    return undefined;
  }
}
