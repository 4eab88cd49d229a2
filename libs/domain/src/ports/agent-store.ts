import type { AgentDeclaration } from '../agent.js';
import type { RunPolicy } from './run-store.js';

/** An agent as stored, with the version its ETag shows. */
export interface AgentRecord extends AgentDeclaration {
  readonly version: number;
  readonly updatedAtMs: number;
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

/** Agents and their backends. */
export abstract class AgentStore {
  /** Every agent, disabled ones too. */
  abstract all(): Promise<readonly AgentRecord[]>;
  /**
   * Makes the file's declarations the agents there are, unless the file applied last has the same digest; returns whether
   * it did. Backends get versions by content, append-only.
   */
  abstract applyFile(digest: string, agents: readonly AgentDeclaration[]): Promise<boolean>;
  /** The stored version with this content, made when missing. */
  abstract backendVersion(backend: Omit<BackendVersion, 'id'>): Promise<BackendVersion>;
}
