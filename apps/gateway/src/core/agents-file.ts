import {
  type AgentDeclaration,
  type AgentPolicy,
  type BackendChoice,
  clashesOf,
  DEFAULT_POLICY,
  pointerTo,
  type Route,
  unknownTools,
} from '#lib/domain';
import { parse } from 'yaml';
import { AGENTS_FILE, type AgentSource, type PolicySource, type RouteSource } from './agent.schema.js';
import { compileSchema, type SchemaCheck } from './json-schema.js';

/** What is known of a runner kind: enough to refuse a backend that could never run. */
export interface RunnerKind {
  readonly kind: string;
  readonly optionsSchema: Readonly<Record<string, unknown>>;
}

/** The file cannot be used; the message names every fault by its path. */
export class AgentsFileError extends Error {
  override readonly name = 'AgentsFileError';
}

const checkFile = compileSchema(AGENTS_FILE);

/** Declarations of the file, complete with defaults. @throws AgentsFileError with every fault. */
export function parseAgentsFile(text: string, runners: readonly RunnerKind[]): readonly AgentDeclaration[] {
  const value = parseYaml(text);
  const faults = checkFile(value).map(({ path, message }) => `${path || 'the file'} ${message}`);
  if (faults.length > 0) throw unusable(faults);
  const sources = (value as { readonly agents: readonly AgentSource[] }).agents;
  const agents = sources.map(decodeAgent);
  const later = [...agents.flatMap((agent, index) => faultsOf(agent, index, runners)), ...clashesOf(agents)];
  if (later.length > 0) throw unusable(later);
  return agents;
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

/** Faults the schema of the file cannot see: runner kinds, their options, schemas that are none. */
function faultsOf(agent: AgentDeclaration, index: number, runners: readonly RunnerKind[]): readonly string[] {
  const faults: string[] = [];
  const at = `/agents/${index}`;
  if (agent.inputSchema && !compiled(agent.inputSchema)) faults.push(`${at}/input_schema is no JSON Schema`);
  for (const name of unknownTools(agent.policy.tools ?? {}, agent.tools)) {
    faults.push(`${at}/policy/tools${pointerTo(name)} is none of the agent's tools`);
  }
  agent.routes.forEach((route, routeIndex) =>
    route.backends.forEach((backend, backendIndex) => {
      const path = `${at}/routes/${routeIndex}/backends/${backendIndex}`;
      faults.push(...backendFaults(backend, path, runners));
    }),
  );
  return faults;
}

function backendFaults(backend: BackendChoice, path: string, runners: readonly RunnerKind[]): readonly string[] {
  const runner = runners.find(({ kind }) => kind === backend.runner);
  if (!runner) return [`${path}/runner must be one of ${runners.map(({ kind }) => kind).join(', ')}`];
  const faults = compiled(runner.optionsSchema)?.(backend.options) ?? [];
  return faults.map((fault) => `${path}/options${fault.path} ${fault.message}`);
}

function compiled(schema: Readonly<Record<string, unknown>>): SchemaCheck | undefined {
  try {
    return compileSchema(schema);
  } catch {
    return undefined;
  }
}

/** A declaration in our words, complete with defaults. */
function decodeAgent(source: AgentSource): AgentDeclaration {
  return {
    id: source.id,
    name: source.name ?? source.id,
    description: source.description,
    enabled: source.enabled ?? true,
    default: source.default ?? false,
    ...(source.tenants ? { tenants: source.tenants } : {}),
    types: source.types ?? [],
    inputModes: source.input_modes ?? ['text'],
    ...(source.input_schema ? { inputSchema: source.input_schema } : {}),
    tools: source.tools ?? [],
    ...(source.detail ? { detail: source.detail } : {}),
    policy: decodePolicy(source.policy ?? {}),
    routes: source.routes.map(decodeRoute),
  };
}

function decodeRoute({ when, tools, backends }: RouteSource): Route {
  return {
    ...(when ? { when: when } : {}),
    ...(tools ? { tools } : {}),
    backends: backends.map(({ runner, options = {}, weight = 1, pool }) => ({
      runner,
      options,
      weight,
      ...(pool === undefined ? {} : { pool }),
    })),
  };
}

function decodePolicy(source: PolicySource): AgentPolicy {
  const { retries = {}, budgets = {} } = source;
  const usual = DEFAULT_POLICY;
  return {
    onLost: source.on_lost ?? usual.onLost,
    maxRuns: source.max_runs ?? usual.maxRuns,
    retries: {
      attempts: retries.attempts ?? usual.retries.attempts,
      firstDelaySeconds: retries.first_delay_seconds ?? usual.retries.firstDelaySeconds,
      maxDelaySeconds: retries.max_delay_seconds ?? usual.retries.maxDelaySeconds,
    },
    deadlineSeconds: source.deadline_seconds ?? usual.deadlineSeconds,
    graceSeconds: source.grace_seconds ?? usual.graceSeconds,
    stallSeconds: source.stall_seconds ?? usual.stallSeconds,
    budgets: Object.fromEntries(
      Object.entries({
        modelCalls: budgets.model_calls,
        toolCalls: budgets.tool_calls,
        tokens: budgets.tokens,
        wallSeconds: budgets.wall_seconds,
      }).filter(([, bound]) => bound !== undefined),
    ),
    ...(source.tools ? { tools: source.tools } : {}),
  };
}
