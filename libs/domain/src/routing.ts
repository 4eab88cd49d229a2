import type { AgentDeclaration, BackendChoice, Route, RouteCondition } from './agent.js';
import { canonicalJson } from './canonical-json.js';
import { DomainError } from './errors.js';
import type { BackendVersion } from './ports/agent-store.js';
import { toolsOn } from './tool-wishes.js';

/** What routing may look at of a submission. */
export interface RoutingRequest {
  readonly tenant: string;
  /** `context.user_id`, else the principal. */
  readonly user: string;
  readonly agentId?: string;
  readonly type?: string;
  /** The caller's context; `attributes` in it are conditions of their own. */
  readonly context: Readonly<Record<string, unknown>>;
}

/** An agent and the first of its routes that matches. */
export interface Routed<Agent extends AgentDeclaration = AgentDeclaration> {
  readonly agent: Agent;
  readonly route: Route;
  /** 0-based place of the route; part of what the weights are hashed with. */
  readonly routeIndex: number;
}

/**
 * The agent and route of a task: by `agent_id`, else by `type`, else the default agent.
 * @throws DomainError `unknown_agent`, `agent_disabled`, `no_route`.
 */
export function routeTask<Agent extends AgentDeclaration>(
  agents: Iterable<Agent>,
  request: RoutingRequest,
): Routed<Agent> {
  const agent = chooseAgent(agents, request);
  if (!agent.enabled) throw new DomainError('agent_disabled', `The agent ${agent.id} takes no new tasks.`);
  const routeIndex = agent.routes.findIndex(({ when }) => when === undefined || holds(when, request));
  const route = agent.routes[routeIndex];
  if (!route) throw new DomainError('no_route', `No route of the agent ${agent.id} matches the task.`);
  return { agent, route, routeIndex };
}

/** True when callers of the tenant may know the agent and use it. */
export function isVisibleTo(agent: AgentDeclaration, tenant: string): boolean {
  return agent.tenants === undefined || agent.tenants.includes(tenant);
}

function chooseAgent<Agent extends AgentDeclaration>(agents: Iterable<Agent>, request: RoutingRequest): Agent {
  const { agentId, type, tenant } = request;
  const visible = [...agents].filter((agent) => isVisibleTo(agent, tenant));
  if (agentId !== undefined) {
    const named = visible.find((agent) => agent.id === agentId);
    if (named) return named;
    throw new DomainError('unknown_agent', 'There is no agent of this agent_id.');
  }
  const chosen =
    (type === undefined ? undefined : visible.find((agent) => agent.types.includes(type))) ??
    visible.find((agent) => agent.default);
  if (chosen) return chosen;
  const message =
    type === undefined ? 'The task names neither agent_id nor type.' : 'No agent takes tasks of this type.';
  throw new DomainError('no_route', message);
}

function holds(when: RouteCondition, request: RoutingRequest): boolean {
  return Object.entries(when).every(([name, expected]) => {
    const actual = valueOf(name, request);
    return actual !== undefined && canonicalJson(actual) === canonicalJson(expected);
  });
}

function valueOf(name: string, { type, tenant, user, context }: RoutingRequest): unknown {
  const dot = name.indexOf('.');
  if (dot < 0) return { type, tenant, user }[name];
  const key = name.slice(dot + 1);
  return own(name.startsWith('attributes.') ? own(context, 'attributes') : context, key);
}

function own(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[key];
}

/** Whose task it is, as far as the weights of a route care. */
export interface Weighed {
  readonly tenant: string;
  /** `context.user_id`, else the principal. */
  readonly user: string;
  /** Absent: the task stands for itself. */
  readonly sessionId?: string;
  readonly taskId: string;
}

/**
 * The text whose SHA-256 places a task among the weights of its route: of agent, route and session, else of the task. So a
 * session falls to the same backend wherever it is asked, for as long as the weights stay as they are.
 */
export function weightSeed({ agent, routeIndex }: Routed, { tenant, user, sessionId, taskId }: Weighed): string {
  const subject = sessionId === undefined ? ['task', tenant, taskId] : ['session', tenant, user, sessionId];
  return canonicalJson([agent.id, routeIndex, ...subject]);
}

/** The point a hash stands for: its first 48 bits as a fraction, 0 up to, not including, 1. */
export function pointOf(hash: Uint8Array): number {
  return hash.slice(0, 6).reduce((point, byte) => point * 256 + byte, 0) / 2 ** 48;
}

/**
 * The backend a point falls to when the weights are laid end to end.
 * @param point 0 up to, not including, 1: from a hash, so that the same session always gets the same backend.
 * @throws DomainError `no_route` when no backend has weight.
 */
export function chooseBackend({ backends }: Route, point: number): BackendChoice {
  const total = backends.reduce((sum, backend) => sum + backend.weight, 0);
  let end = 0;
  for (const backend of backends) {
    end += backend.weight;
    if (point * total < end) return backend;
  }
  throw new DomainError('no_route', 'Every backend of the route has weight 0.');
}

/** What a run on this backend needs to know, frozen at submission. */
export function backendOf({ agent, route }: Routed, choice: BackendChoice): Omit<BackendVersion, 'id'> {
  const { policy } = agent;
  return {
    agentId: agent.id,
    runner: choice.runner,
    pool: choice.pool ?? choice.runner,
    options: choice.options,
    policy: {
      onLost: policy.onLost,
      maxRuns: policy.maxRuns,
      retries: policy.retries,
      graceSeconds: policy.graceSeconds,
      stallSeconds: policy.stallSeconds,
      heartbeatSeconds: policy.heartbeatSeconds,
      confirmationSeconds: policy.confirmationSeconds,
      budgets: policy.budgets,
      tools: toolsOn(agent.tools, route.tools),
      ...(policy.tools ? { toolPolicy: policy.tools } : {}),
      ...(policy.toolLimits ? { toolLimits: policy.toolLimits } : {}),
    },
  };
}

/** Why one of a set of agents cannot be used beside those before it. */
export interface Clash {
  /** JSON Pointer into the declaration of the later one. */
  readonly path: string;
  readonly message: string;
}

/** Why a set of agents cannot be used together: an id or a type that comes twice, more than one default. */
export function clashesOf(agents: readonly AgentDeclaration[]): readonly Clash[] {
  const clashes: Clash[] = [];
  const ids = new Set<string>();
  const ownerOf = new Map<string, string>();
  let standard: string | undefined;
  for (const { id, types, default: isDefault } of agents) {
    if (ids.has(id)) clashes.push({ path: '/id', message: `the agent ${id} is declared twice` });
    ids.add(id);
    types.forEach((type, index) => {
      const owner = ownerOf.get(type);
      if (owner !== undefined && owner !== id) {
        clashes.push({ path: `/types/${index}`, message: `the type ${type} belongs to both ${owner} and ${id}` });
      }
      ownerOf.set(type, id);
    });
    if (!isDefault) continue;
    if (standard !== undefined) {
      clashes.push({ path: '/default', message: `only one agent can be the default, not ${standard} and ${id}` });
    }
    standard = id;
  }
  return clashes;
}
