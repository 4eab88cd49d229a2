import type { AgentDeclaration } from '../agent.js';
import type { AuditEntry } from '../audit-entry.js';
import type { RunPolicy } from './run-store.js';

/** An agent as stored: its declaration as it was written, in the spelling of agents.yaml and without defaults. */
export interface StoredAgent {
  readonly id: string;
  readonly source: Readonly<Record<string, unknown>>;
  /** Grows with every change; no two declarations, of this agent or another, ever have the same. */
  readonly version: number;
  readonly updatedAtMs: number;
}

/** An agent in use: what is stored, and what it means. */
export interface AgentRecord extends AgentDeclaration, StoredAgent {}

/** One agent's new declaration. */
export interface AgentEdit {
  readonly id: string;
  readonly source: Readonly<Record<string, unknown>>;
  /** The version it takes the place of; absent: there is none yet. */
  readonly replaces?: number;
  readonly audit: AuditEntry;
}

/** One immutable backend: kind, options, policy. */
export interface BackendVersion {
  readonly id: string;
  readonly agentId: string;
  readonly runner: string;
  readonly pool: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly policy: RunPolicy;
}

/** A declaration of a file, as it spells it. */
export interface AgentFileEntry {
  readonly id: string;
}

/** Agents and their backends. */
export abstract class AgentStore {
  /** Every agent, disabled ones too. */
  abstract all(): Promise<readonly StoredAgent[]>;
  /** Makes the file's declarations the agents and tools there are, unless the file applied last has the same digest; returns whether it did. */
  abstract applyFile(
    digest: string,
    agents: readonly AgentFileEntry[],
    tools?: readonly AgentFileEntry[],
  ): Promise<boolean>;
  /**
   * Changes one agent, with the record of who did, in one transaction. `decide` sees all agents as they are while nobody
   * else can change them, and says what is to be; when it throws, nothing is written and its error is thrown.
   */
  abstract change(decide: (agents: readonly StoredAgent[]) => AgentEdit): Promise<StoredAgent>;
  /** How many tasks of each agent have not ended, whatever their tenant; agents without any are missing. */
  abstract activeTasks(): Promise<ReadonlyMap<string, number>>;
  /** The stored version with this content, made when missing; append-only. */
  abstract backendVersion(backend: Omit<BackendVersion, 'id'>): Promise<BackendVersion>;
}
