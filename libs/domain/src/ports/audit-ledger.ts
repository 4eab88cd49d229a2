import type { AuditHead, AuditRecord, StoredHead } from '../audit-record.js';

/** Where hashes of the tree come from. A node of level n covers 2^n leaves; levels 8, 16, 24 … are kept. */
export interface TreeSource {
  /** Digests of the leaves from `from` up to, not including, `to`, in order. */
  digests(from: number, to: number): Promise<readonly Uint8Array[]>;
  /** Hashes of the nodes `from` up to `to` of a kept level. */
  nodes(level: number, from: number, to: number): Promise<readonly Uint8Array[]>;
}

/** A kept node of the tree. */
export interface TreeNode {
  readonly level: number;
  readonly no: number;
  readonly hash: Uint8Array;
}

/** Committed records that no transaction still open can get in before, in their order, and the tree they are put on. */
export interface DueRecords {
  readonly log: string;
  /** Leaves there are. */
  readonly size: number;
  readonly head: StoredHead | undefined;
  readonly records: readonly AuditRecord[];
  /** More are due than the limit let through. */
  readonly hasMore: boolean;
  readonly system: string;
  readonly mark: string;
  /** The database's time. */
  readonly at: string;
}

/** What one step of sealing writes. */
export interface Seal {
  readonly due: DueRecords;
  /** Of each record. */
  readonly digests: readonly Uint8Array[];
  readonly nodes: readonly TreeNode[];
  readonly head: AuditHead;
  /** The public half of the key that signed the head, in PEM; absent: not signed. */
  readonly publicKey?: string;
}

/** One step of sealing, while no other process seals. */
export interface SealSession {
  readonly tree: TreeSource;
  due(limit: number): Promise<DueRecords>;
  write(seal: Seal): Promise<void>;
}

/** The tree of sealed records, as the sealer sees it. */
export abstract class AuditLedger {
  /** Runs `work` in a transaction while nobody else seals; undefined when nothing is due or another process is at it. */
  abstract seal<T>(work: (session: SealSession) => Promise<T>): Promise<T | undefined>;
  /** Age of the oldest committed record that is not sealed, in seconds; 0 when there is none. */
  abstract lagSeconds(): Promise<number>;
  /** Heads after this number, oldest first. */
  abstract headsAfter(no: number, limit: number): Promise<readonly StoredHead[]>;
  /** The number of the last head that this place has got; 0: none. */
  abstract exported(sink: string): Promise<number>;
  abstract setExported(sink: string, no: number): Promise<void>;
}
