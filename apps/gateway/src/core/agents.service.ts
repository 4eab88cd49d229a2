import type { AgentRecord, InputMode } from '#lib/domain';
import type { Caller } from './caller.js';

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

/** Agents as callers see them: those their tenant may use. An unknown one is DomainError `not_found`. */
export abstract class AgentsService {
  /** By id. */
  abstract list(caller: Caller): Promise<readonly AgentRecord[]>;
  abstract get(caller: Caller, agentId: string): Promise<AgentRecord>;
  abstract capabilities(caller: Caller, agentId: string): Promise<AgentCapabilities>;
}
