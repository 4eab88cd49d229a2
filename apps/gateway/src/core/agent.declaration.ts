import {
  type AgentDeclaration,
  type AgentPolicy,
  type BackendChoice,
  type ConfirmationSeconds,
  DEFAULT_POLICY,
  outlookOn,
  pointerTo,
  type Route,
  toolsOn,
  unknownTools,
} from '#lib/domain';
import { compileSchema, policyFaults, type SchemaCheck, type SchemaError, type SchemaFault } from '#lib/tools';
import { AGENT_DECLARATION, type AgentSource, type PolicySource, type RouteSource } from './agent.schema.js';

/** What is known of a runner kind: enough to refuse a backend that could never run. */
export interface RunnerKind {
  readonly kind: string;
  readonly optionsSchema: Readonly<Record<string, unknown>>;
  /** Absent: it can pause. */
  readonly capabilities?: { readonly pause: boolean };
}

const checkDeclaration = compileSchema(AGENT_DECLARATION, { all: true });

/** What is wrong with one declaration by itself; none: it is an `AgentSource`. Paths are JSON Pointers into it. */
export function declarationFaults(value: unknown, runners: readonly RunnerKind[]): readonly SchemaFault[] {
  const faults = checkDeclaration(value);
  return faults.length > 0 ? faults : deepFaults(decodeAgent(value as AgentSource), runners);
}

/** Faults the schema cannot see: runner kinds, their options, schemas that are none. */
function deepFaults(agent: AgentDeclaration, runners: readonly RunnerKind[]): readonly SchemaFault[] {
  const faults: SchemaFault[] = [];
  if (agent.inputSchema) faults.push(...faultsBelow('/input_schema', schemaFaults(agent.inputSchema)));
  for (const name of unknownTools(agent.policy.tools ?? {}, agent.tools)) {
    faults.push({ path: `/policy/tools${pointerTo(name)}`, message: "is none of the agent's tools" });
  }
  faults.push(...faultsBelow('/policy/tools', policyFaults(agent.policy.tools ?? {})));
  agent.routes.forEach(({ backends, tools }, route) => {
    const asking = toolsOn(agent.tools, tools).find((tool) => outlookOn(tool, agent.policy.tools).asks);
    backends.forEach((backend, place) => {
      const path = `/routes/${route}/backends/${place}`;
      faults.push(...backendFaults(backend, path, runners), ...pauseFaults(backend, { path, asking, runners }));
    });
  });
  return faults;
}

/** Nobody could ever approve a call of a runner that cannot wait. */
function pauseFaults(
  { runner }: BackendChoice,
  { path, asking, runners }: { path: string; asking: string | undefined; runners: readonly RunnerKind[] },
): readonly SchemaFault[] {
  const found = runners.find(({ kind }) => kind === runner);
  if (asking === undefined || found?.capabilities?.pause !== false) return [];
  return [{ path: `${path}/runner`, message: `cannot wait for somebody to approve calls of ${asking}` }];
}

function backendFaults(backend: BackendChoice, path: string, runners: readonly RunnerKind[]): readonly SchemaFault[] {
  const runner = runners.find(({ kind }) => kind === backend.runner);
  if (!runner) {
    return [{ path: `${path}/runner`, message: `must be one of ${runners.map(({ kind }) => kind).join(', ')}` }];
  }
  return faultsBelow(`${path}/options`, optionsCheck(runner)(backend.options));
}

const optionChecks = new WeakMap<RunnerKind, SchemaCheck>();

function optionsCheck(runner: RunnerKind): SchemaCheck {
  const check = optionChecks.get(runner) ?? compileSchema(runner.optionsSchema, { all: true });
  optionChecks.set(runner, check);
  return check;
}

/** What keeps a schema from being used. */
function schemaFaults(schema: object): readonly SchemaFault[] {
  try {
    compileSchema(schema);
    return [];
  } catch (error) {
    return (error as SchemaError).faults;
  }
}

function faultsBelow(path: string, faults: readonly SchemaFault[]): SchemaFault[] {
  return faults.map((fault) => ({ path: path + fault.path, message: fault.message }));
}

/** A declaration in our words, complete with defaults. */
export function decodeAgent(source: AgentSource): AgentDeclaration {
  return {
    id: source.id,
    name: source.name ?? source.id,
    description: source.description,
    enabled: source.enabled ?? true,
    default: source.default ?? false,
    ...(source.tenants ? { tenants: source.tenants } : {}),
    types: source.types ?? [],
    ...decodeInput(source),
    tools: source.tools ?? [],
    ...(source.detail ? { detail: source.detail } : {}),
    ...(source.session_strategy ? { sessionStrategy: source.session_strategy } : {}),
    ...decodeManner(source),
    policy: decodePolicy(source.policy ?? {}),
    routes: source.routes.map(decodeRoute),
  };
}

function decodeInput(source: AgentSource): Pick<AgentDeclaration, 'inputModes' | 'mediaTypes' | 'inputSchema'> {
  return {
    inputModes: source.input_modes ?? ['text'],
    ...(source.media_types ? { mediaTypes: source.media_types } : {}),
    ...(source.input_schema ? { inputSchema: source.input_schema } : {}),
  };
}

function decodeManner({
  caller_instructions,
  chat,
}: AgentSource): Pick<AgentDeclaration, 'callerInstructions' | 'chat'> {
  return {
    ...(caller_instructions === undefined ? {} : { callerInstructions: caller_instructions }),
    ...(chat
      ? {
          chat: {
            ...(chat.on_interrupt ? { onInterrupt: chat.on_interrupt } : {}),
            ...(chat.reasoning === undefined ? {} : { reasoning: chat.reasoning }),
          },
        }
      : {}),
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

function decodeRetries(source: NonNullable<PolicySource['retries']>): AgentPolicy['retries'] {
  const usual = DEFAULT_POLICY.retries;
  return {
    attempts: source.attempts ?? usual.attempts,
    firstDelaySeconds: source.first_delay_seconds ?? usual.firstDelaySeconds,
    maxDelaySeconds: source.max_delay_seconds ?? usual.maxDelaySeconds,
  };
}

function decodePolicy(source: PolicySource): AgentPolicy {
  const { budgets = {} } = source;
  const usual = DEFAULT_POLICY;
  return {
    onLost: source.on_lost ?? usual.onLost,
    maxRuns: source.max_runs ?? usual.maxRuns,
    retries: decodeRetries(source.retries ?? {}),
    deadlineSeconds: source.deadline_seconds ?? usual.deadlineSeconds,
    graceSeconds: source.grace_seconds ?? usual.graceSeconds,
    stallSeconds: source.stall_seconds ?? usual.stallSeconds,
    heartbeatSeconds: source.heartbeat_seconds ?? usual.heartbeatSeconds,
    confirmationSeconds: decodeConfirmationSeconds(source.confirmation_seconds),
    budgets: Object.fromEntries(
      Object.entries({
        modelCalls: budgets.model_calls,
        toolCalls: budgets.tool_calls,
        tokens: budgets.tokens,
        wallSeconds: budgets.wall_seconds,
      }).filter(([, bound]) => bound !== undefined),
    ),
    ...(source.tools ? { tools: source.tools } : {}),
    ...decodeLimits(source.tool_limits),
  };
}

function decodeLimits({ argument_bytes, output_bytes }: PolicySource['tool_limits'] = {}): Pick<
  AgentPolicy,
  'toolLimits'
> {
  if (argument_bytes === undefined && output_bytes === undefined) return {};
  return {
    toolLimits: {
      ...(argument_bytes === undefined ? {} : { argumentBytes: argument_bytes }),
      ...(output_bytes === undefined ? {} : { outputBytes: output_bytes }),
    },
  };
}

function decodeConfirmationSeconds(source: PolicySource['confirmation_seconds'] = {}): ConfirmationSeconds {
  const usual = DEFAULT_POLICY.confirmationSeconds;
  if (typeof source !== 'number') return { ...usual, ...source };
  return { tool_confirmation: source, question: source, client_tool: source, authorization: source };
}
