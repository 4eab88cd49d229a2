import { clashesOf } from '#lib/domain';
import { compileSchema, type SchemaFault } from '#lib/tools';
import { parse } from 'yaml';
import { declarationFaults, decodeAgent, type RunnerKind } from './agent.declaration.js';
import { AGENTS_FILE, type AgentSource } from './agent.schema.js';

/** The file cannot be used; the message names every fault by its path. */
export class AgentsFileError extends Error {
  override readonly name = 'AgentsFileError';
}

const checkFile = compileSchema(AGENTS_FILE, { all: true });

/** What the file declares, as it spells it. @throws AgentsFileError with every fault. */
export function parseAgentsFile(text: string, runners: readonly RunnerKind[]): readonly AgentSource[] {
  const value = parseYaml(text);
  const faults = checkFile(value).map(({ path, message }) => `${path || 'the file'} ${message}`);
  if (faults.length > 0) throw unusable(faults);
  const { agents } = value as { readonly agents: readonly AgentSource[] };
  const later = [
    ...agents.flatMap((agent, index) => declarationFaults(agent, runners).map((fault) => describe(fault, index))),
    ...clashesOf(agents.map(decodeAgent)).map(({ message }) => message),
  ];
  if (later.length > 0) throw unusable(later);
  return agents;
}

function describe({ path, message }: SchemaFault, index: number): string {
  return `/agents/${index}${path} ${message}`;
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
