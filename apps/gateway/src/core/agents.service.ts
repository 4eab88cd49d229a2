import {
  type AgentRecord,
  type AgentStore,
  DomainError,
  type EventType,
  EVENTS,
  INPUT_MODES,
  type InputMode,
  isVisibleTo,
  outlookOn,
} from '#lib/domain';
import type { ToolCatalog } from '#lib/tools';
import type { AgentDirectory } from './agent.directory.js';
import { type Caller, isOperator } from './caller.js';

/** What an agent can do, whichever of its backends a task gets. */
export interface AgentCapabilities {
  readonly agentId: string;
  readonly types: readonly string[];
  readonly inputModes: readonly InputMode[];
  readonly tools: readonly string[];
  /** Event types a task of this agent may have. */
  readonly events: readonly string[];
  readonly pause: boolean;
  readonly resume: boolean;
  readonly cancel: boolean;
  /** Whether a submission may bring tools of its own. */
  readonly clientTools: boolean;
}

/** Events the platform writes for every task. */
const PLATFORM_EVENTS: readonly EventType[] = [
  'task.created',
  'task.started',
  'task.retrying',
  'task.stalled',
  'task.recovered',
  'task.cancel_requested',
  'task.cancelled',
  'task.succeeded',
  'task.failed',
  'artifact.created',
  'message.started',
  'message.completed',
  'heartbeat',
];

/** Those it writes for tasks that can wait for an answer. */
const PAUSE_EVENTS: readonly EventType[] = ['agent.request_confirmation', 'task.waiting_for_input', 'task.resumed'];

/** Those it writes for tasks that call tools. */
const TOOL_EVENTS: readonly EventType[] = ['tool.denied'];

/** An agent as a caller sees it. */
export interface AgentView {
  readonly agent: AgentRecord;
  /** Tasks of all tenants that have not ended; for operators only, who also may see the declaration. */
  readonly activeTasks?: number;
}

/** Agents as callers see them: those their tenant may use, for operators all. An unknown one is DomainError `not_found`. */
export class AgentsService {
  constructor(
    private readonly directory: AgentDirectory,
    private readonly store: AgentStore,
    private readonly tools: ToolCatalog,
  ) {}

  /** By id. */
  list(caller: Caller): Promise<readonly AgentView[]> {
    return this.view(caller, this.visible(caller));
  }

  async get(caller: Caller, agentId: string): Promise<AgentView> {
    const [view] = await this.view(caller, [this.find(caller, agentId)]);
    return view!;
  }

  /** Agents as this caller may see them. */
  async view(caller: Caller, agents: readonly AgentRecord[]): Promise<readonly AgentView[]> {
    if (!isOperator(caller)) return agents.map((agent) => ({ agent }));
    const active = await this.store.activeTasks();
    return agents.map((agent) => ({ agent, activeTasks: active.get(agent.id) ?? 0 }));
  }

  async capabilities(caller: Caller, agentId: string): Promise<AgentCapabilities> {
    const agent = this.find(caller, agentId);
    const routes = agent.routes.filter(({ when }) => when?.tenant === undefined || when.tenant === caller.tenant);
    const kinds = new Set(routes.flatMap(({ backends }) => backends.map(({ runner }) => runner)));
    const traits = [...kinds].map((kind) => this.directory.capabilitiesOf(kind)).filter((found) => found !== undefined);
    const isKnown = kinds.size > 0 && traits.length === kinds.size;
    const events = new Set<string>([
      ...PLATFORM_EVENTS,
      ...traits.flatMap((runner) => [
        ...runner.events,
        ...(runner.pause ? PAUSE_EVENTS : []),
        ...(runner.events.includes('tool.invoked') ? TOOL_EVENTS : []),
      ]),
    ]);
    return {
      agentId: agent.id,
      types: agent.types,
      inputModes: INPUT_MODES.filter((mode) => agent.inputModes.includes(mode)),
      tools: agent.tools.filter(
        (tool) =>
          outlookOn(tool, agent.policy.tools).verdict !== 'deny' &&
          this.tools.find(tool, caller.tenant) !== undefined &&
          routes.some((route) => route.tools?.includes(tool) ?? true),
      ),
      events: Object.keys(EVENTS).filter((type) => events.has(type)),
      // A promise has to hold whichever backend a task gets.
      pause: isKnown && traits.every((runner) => runner.pause),
      resume: isKnown && traits.every((runner) => runner.resume),
      cancel: isKnown && traits.every((runner) => runner.cancel),
      clientTools: isKnown && traits.every((runner) => runner.clientTools),
    };
  }

  private visible(caller: Caller): readonly AgentRecord[] {
    return this.directory.all().filter((agent) => isOperator(caller) || isVisibleTo(agent, caller.tenant));
  }

  private find(caller: Caller, agentId: string): AgentRecord {
    const agent = this.visible(caller).find(({ id }) => id === agentId);
    if (!agent) throw new DomainError('not_found', 'There is no such agent.');
    return agent;
  }
}
