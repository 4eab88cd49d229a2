import {
  type AgentRecord,
  DomainError,
  type EventType,
  EVENTS,
  INPUT_MODES,
  type InputMode,
  isVisibleTo,
} from '#lib/domain';
import type { AgentDirectory } from './agent.directory.js';
import type { Caller } from './caller.js';
import type { RunnerTraits } from './runner-traits.js';

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
}

/** What callers of this version can make use of. Tasks cannot be answered yet, so no agent can pause; parts of input are text or data. */
const SERVED = { pause: false, inputModes: ['text', 'data'] as readonly InputMode[] };

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
  'message.completed',
  'heartbeat',
];

/** Agents as callers see them: those their tenant may use. An unknown one is DomainError `not_found`. */
export class AgentsService {
  private readonly traits: ReadonlyMap<string, RunnerTraits['capabilities']>;

  constructor(
    private readonly directory: AgentDirectory,
    runners: readonly RunnerTraits[],
  ) {
    this.traits = new Map(runners.map(({ kind, capabilities }) => [kind, capabilities]));
  }

  /** By id. */
  async list({ tenant }: Caller): Promise<readonly AgentRecord[]> {
    return this.directory.all().filter((agent) => isVisibleTo(agent, tenant));
  }

  async get(caller: Caller, agentId: string): Promise<AgentRecord> {
    const agent = (await this.list(caller)).find(({ id }) => id === agentId);
    if (!agent) throw new DomainError('not_found', 'There is no such agent.');
    return agent;
  }

  async capabilities(caller: Caller, agentId: string): Promise<AgentCapabilities> {
    const agent = await this.get(caller, agentId);
    const kinds = new Set(agent.routes.flatMap(({ backends }) => backends.map(({ runner }) => runner)));
    const traits = [...kinds].map((kind) => this.traits.get(kind)).filter((found) => found !== undefined);
    const isKnown = traits.length === kinds.size;
    const events = new Set<string>([...PLATFORM_EVENTS, ...traits.flatMap((runner) => runner.events)]);
    return {
      agentId: agent.id,
      types: agent.types,
      inputModes: INPUT_MODES.filter((mode) => agent.inputModes.includes(mode) && SERVED.inputModes.includes(mode)),
      tools: agent.tools,
      events: Object.keys(EVENTS).filter((type) => events.has(type)),
      // A promise has to hold whichever backend a task gets.
      pause: SERVED.pause && isKnown && traits.every((runner) => runner.pause),
      resume: isKnown && traits.every((runner) => runner.resume),
      cancel: isKnown && traits.every((runner) => runner.cancel),
    };
  }
}
