import type { AuditEntry } from '../audit-entry.js';

/** Who declared a tool: the operator's file, or a caller of the API. */
export type ToolOrigin = 'file' | 'api';

/** A declared tool or MCP server as stored: as it was written, in the spelling of agents.yaml and without defaults. */
export interface StoredTool {
  readonly id: string;
  readonly source: Readonly<Record<string, unknown>>;
  readonly origin: ToolOrigin;
  /** Grows with every change; no two declarations, of this tool or another, ever have the same. */
  readonly version: number;
  readonly updatedAtMs: number;
}

/** A tool as an MCP server lists it, within bounds. What it says is not to be trusted. */
export interface ListedTool {
  /** The name under which models and policies know it. */
  readonly name: string;
  /** The name the server knows it by. */
  readonly remoteName: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Over everything the server says of it, also what is not kept. */
  readonly digest: string;
}

/** What is known of one tool of an MCP server. */
export interface ToolOffer {
  readonly serverId: string;
  readonly name: string;
  /** False: the server has listed it once and does not now. */
  readonly isListed: boolean;
  /** What the server listed last. */
  readonly offered: ListedTool;
  /** What somebody, or the declaration's trust, has accepted; absent: nothing yet. Only this may be offered and called. */
  readonly accepted?: ListedTool;
  readonly seenAtMs: number;
}

/** One tool's new declaration. */
export interface ToolEdit {
  readonly id: string;
  /** Absent: it is removed, with what is known of its tools. */
  readonly source?: Readonly<Record<string, unknown>>;
  /** The version it takes the place of; absent: there is none yet. */
  readonly replaces?: number;
  readonly audit: AuditEntry;
}

/** Everything there is, at one moment. */
export interface ToolState {
  /** Another one whenever anything else differs. */
  readonly revision: string;
  readonly tools: readonly StoredTool[];
  readonly offers: readonly ToolOffer[];
}

/** What a server lists, and how it is judged. */
export interface Observation {
  readonly serverId: string;
  /** Version of the declaration the list was got with: of another, nothing is written. */
  readonly version: number;
  readonly listed: readonly ListedTool[];
  /** Tools never seen before are accepted at once; changed ones never are. */
  readonly trustNew: boolean;
  /** Who saw it, for the record. */
  readonly audit: Pick<AuditEntry, 'tenant' | 'principal' | 'keyId' | 'requestId'>;
}

/** Declared tools, MCP servers, and the tools these offer. */
export abstract class ToolStore {
  /** Everything; undefined when it is what it was at `knownRevision`. */
  abstract load(knownRevision: string | undefined): Promise<ToolState | undefined>;
  /**
   * Changes one declaration, with the record of who did, in one transaction. `decide` sees all as they are while nobody
   * else can change them; when it throws, nothing is written and its error is thrown. Undefined: it is removed.
   */
  abstract change(decide: (tools: readonly StoredTool[]) => ToolEdit): Promise<StoredTool | undefined>;
  /** Notes what a server lists, and records what is new or has changed, each change once. True when there was any. */
  abstract observe(observation: Observation): Promise<boolean>;
  /** Accepts what is offered, when it still has this digest, with the record of who did; false when it has not. */
  abstract accept(name: string, digest: string, audit: AuditEntry): Promise<boolean>;
}
