import type { AuditPruning } from '../audit-pruning.js';
import type { StoredHead } from '../audit-record.js';
import type { TreeSource } from './audit-ledger.js';

/** Records whose time is over: those of the tree that this head was of. */
export interface DuePruning {
  /** Whose records; null: everybody's. */
  readonly tenant: string | null;
  readonly days: number;
  readonly head: StoredHead;
  /** The database's time. */
  readonly at: string;
}

/** What is said of records before `Retention` removes them. */
export abstract class AuditPruningLedger {
  /** Hashes of the tree. */
  abstract readonly tree: TreeSource;
  /** What is to be said next, at most once a day of each tenant. `kids`: only heads these have signed; absent: any. */
  abstract due(kids?: readonly string[]): Promise<readonly DuePruning[]>;
  /** Takes the place of what was said of fewer records of the same. An hour later they may go. */
  abstract declare(pruning: AuditPruning): Promise<void>;
}
