import type { AuditPruning } from '../audit-pruning.js';
import type { AuditRecord, StoredHead } from '../audit-record.js';
import type { TreeSource } from './audit-ledger.js';
import type { Page, PageRequest } from './task-store.js';

/** Which records are meant; all that is given must hold. */
export interface AuditFilter {
  /** Absent: every tenant. */
  readonly tenant?: string;
  readonly principal?: string;
  readonly keyId?: string;
  readonly action?: string;
  readonly target?: string;
  readonly outcome?: 'allowed' | 'denied';
  /** Exclusive, RFC 3339, at any precision. */
  readonly after?: string;
  readonly before?: string;
}

/** A record and its place; null: it is not sealed yet. */
export interface PlacedRecord {
  readonly record: AuditRecord;
  readonly leaf: number | null;
  readonly digest: Uint8Array | null;
}

/** A leaf that was asked for; a record that is gone although its leaf is there is null. */
export interface SealedLeaf {
  readonly leaf: number;
  readonly recordId: string;
  readonly digest: Uint8Array;
  readonly record: AuditRecord | null;
}

/** The audit trail for those who read it. */
export abstract class AuditReader {
  /** Hashes of the tree. */
  abstract readonly tree: TreeSource;
  /** Newest first. @throws DomainError `invalid_request` for a cursor that is not ours */
  abstract search(filter: AuditFilter, page: PageRequest): Promise<Page<PlacedRecord>>;
  /** Undefined when there is none in the tenant; without one: anywhere. */
  abstract find(tenant: string | undefined, id: string): Promise<PlacedRecord | undefined>;
  /** Of the leaves from `from` up to, not including, `to`, those the filter means, in order. */
  abstract leaves(filter: AuditFilter, from: number, to: number): Promise<readonly SealedLeaf[]>;
  /** Records that are not sealed, among the next `limit` by id after this one; `lastId` is absent when those were all. */
  abstract unsealed(
    filter: AuditFilter,
    afterId: string,
    limit: number,
  ): Promise<{ readonly records: readonly AuditRecord[]; readonly lastId?: string }>;
  /** The newest head, of at most that many leaves where a size is given. */
  abstract head(size?: number): Promise<StoredHead | undefined>;
  /** Heads after this number, oldest first. */
  abstract headsAfter(no: number, limit: number): Promise<readonly StoredHead[]>;
  /** Heads of trees of more than `from` and at most `to` leaves, smallest first. */
  abstract headsBetween(from: number, to: number): Promise<readonly StoredHead[]>;
  /** Every key that has signed a head, oldest first, in PEM. */
  abstract keys(): Promise<readonly { readonly kid: string; readonly publicKey: string }[]>;
  /** What was said of records that are not kept any longer: of the tenant and of everybody, or of every tenant. */
  abstract prunings(tenant?: string): Promise<readonly AuditPruning[]>;
  /** The first leaf that is kept itself, not only hashed together with others. */
  abstract firstLeaf(): Promise<number>;
}
