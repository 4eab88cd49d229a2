import {
  type AgentRecord,
  type AgentStore,
  type BackendChoice,
  backendOf,
  type BackendVersion,
  type EventBus,
  isVisibleTo,
  type Logger,
  type Routed,
  type StoredAgent,
} from '#lib/domain';
import { Refresher } from '#lib/platform';
import { decodeAgent } from './agent.declaration.js';
import type { AgentSource } from './agent.schema.js';
import type { RunnerTraits } from './runner-traits.js';

export interface DirectoryPorts {
  readonly store: AgentStore;
  readonly bus: EventBus;
  readonly logger: Logger;
  readonly runners: readonly RunnerTraits[];
}

/** The agents as this process knows them, at most five seconds old. */
export class AgentDirectory {
  private agents: readonly AgentRecord[] = [];
  /** By choice: a choice belongs to one route of one agent, and its object lives as long as the agent's version. */
  private readonly versions = new WeakMap<BackendChoice, Promise<BackendVersion>>();
  private readonly refresher: Refresher;

  constructor(private readonly ports: DirectoryPorts) {
    this.refresher = new Refresher({ ...ports, channel: 'agents', load: () => this.load() });
  }

  /** Loads the agents and keeps them fresh. */
  open(): Promise<void> {
    return this.refresher.open();
  }

  /** By id, disabled ones and those of other tenants too. */
  all(): readonly AgentRecord[] {
    return this.agents;
  }

  /** With `tenant`, if it may use it. */
  find(agentId: string, tenant?: string): AgentRecord | undefined {
    const agent = this.agents.find(({ id }) => id === agentId);
    return agent && (tenant === undefined || isVisibleTo(agent, tenant)) ? agent : undefined;
  }

  /** The immutable version of a backend, made when it is chosen for the first time. */
  version(routed: Routed, choice: BackendChoice): Promise<BackendVersion> {
    const known = this.versions.get(choice);
    if (known) return known;
    const made = this.ports.store.backendVersion(backendOf(routed, choice));
    this.versions.set(choice, made);
    made.catch(() => this.versions.delete(choice));
    return made;
  }

  /** What is known of a runner kind; undefined for one this gateway has no description of. */
  capabilitiesOf(runner: string): RunnerTraits['capabilities'] | undefined {
    return this.ports.runners.find(({ kind }) => kind === runner)?.capabilities;
  }

  /** Looks now. What is committed before the call is seen after it. */
  refresh(): Promise<void> {
    return this.refresher.refresh();
  }

  /** Tells every process, this one too, to look again. Only a hint: they look by themselves before long. */
  announce(): void {
    this.refresher.announce();
  }

  close(): void {
    this.refresher.close();
  }

  private async load(): Promise<void> {
    const known = new Map(this.agents.map((agent) => [agent.id, agent] as const));
    const found = await this.ports.store.all();
    // What has not changed stays the same object: what was derived from it stays valid.
    this.agents = found.map((stored) => {
      const before = known.get(stored.id);
      return before?.version === stored.version ? before : recordOf(stored);
    });
  }
}

/** What is stored was checked when it was declared. */
export function recordOf(stored: StoredAgent): AgentRecord {
  return { ...decodeAgent(stored.source as unknown as AgentSource), ...stored };
}
