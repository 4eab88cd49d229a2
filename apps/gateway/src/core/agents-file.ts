import { clashesOf } from '#lib/domain';
import { compileSchema, type SchemaFault, type StdioPolicy, toolFaults, type ToolSource } from '#lib/tools';
import { parse } from 'yaml';
import { declarationFaults, decodeAgent, type RunnerKind } from './agent.declaration.js';
import { AGENTS_FILE, type AgentSource } from './agent.schema.js';

/** The file cannot be used; the message names every fault by its path. */
export class AgentsFileError extends Error {
  override readonly name = 'AgentsFileError';
}

const checkFile = compileSchema(AGENTS_FILE, { all: true });

/** What the file declares, as it spells it. */
export interface AgentsFile {
  readonly agents: readonly AgentSource[];
  readonly tools: readonly ToolSource[];
}

/** What a file may declare here. */
export interface FileTerms {
  readonly runners: readonly RunnerKind[];
  readonly stdio: StdioPolicy;
}

/** @throws AgentsFileError with every fault. */
export function parseAgentsFile(text: string, { runners, stdio }: FileTerms): AgentsFile {
  const value = parseYaml(text);
  const faults = checkFile(value).map(({ path, message }) => `${path || 'the file'} ${message}`);
  if (faults.length > 0) throw unusable(faults);
  const { agents, tools = [] } = value as {
    readonly agents: readonly AgentSource[];
    readonly tools?: readonly unknown[];
  };
  const later = [
    ...agents.flatMap((agent, index) => declarationFaults(agent, runners).map(describeAt(`/agents/${index}`))),
    ...tools.flatMap((tool, index) => toolFaults(tool, { origin: 'file', stdio }).map(describeAt(`/tools/${index}`))),
    ...clashesOf(agents.map(decodeAgent)).map(({ message }) => message),
  ];
  if (later.length > 0) throw unusable(later);
  const declared = tools as readonly ToolSource[];
  const ids = declared.map(({ id }) => id);
  const repeated = ids.flatMap((id, index) =>
    ids.indexOf(id) === index ? [] : [`/tools/${index}/id is taken by a tool before it`],
  );
  if (repeated.length > 0) throw unusable(repeated);
  return { agents, tools: declared };
}

function describeAt(place: string): (fault: SchemaFault) => string {
  return ({ path, message }) => `${place}${path} ${message}`;
}

function unusable(faults: readonly string[]): AgentsFileError {
  return new AgentsFileError(faults.join('; '));
}

function parseYaml(text: string): unknown {
  try {
    return parse(text, { prettyErrors: true, maxAliasCount: 100 });
  } catch (error) {
    const [line] = (error as Error).message.split('\n');
    throw unusable([line ?? 'it is not YAML']);
  }
}
