import type { AuditFilter, AuditPruning, AuditRecord, StoredHead } from '#lib/domain';

export const EXPORT_FORMAT = 'switchyard-audit-export/1';

/**
 * The lines of an export, one JSON object each. Leaves come in order; what was not asked for is there as the hashes of the
 * largest subtrees, so that the root of the tree follows from any export. Binary values are in base64, hashes in hex.
 */
export type ExportLine =
  | ExportHeader
  | { readonly type: 'record'; readonly leaf: number; readonly record: AuditRecord; readonly digest: string }
  /** The leaf is there, the record is not. */
  | { readonly type: 'missing'; readonly leaf: number; readonly id: string; readonly digest: string }
  /** Not even the hashes of these leaves are there. */
  | { readonly type: 'gap'; readonly from: number; readonly to: number }
  | { readonly type: 'subtree'; readonly level: number; readonly no: number; readonly hash: string }
  /** Records that are not kept any longer, as was said before they were removed. */
  | ({ readonly type: 'pruning' } & AuditPruning)
  | ({ readonly type: 'head' } & StoredHead)
  /** Not sealed yet, or put in behind the seal. */
  | { readonly type: 'unsealed'; readonly record: AuditRecord }
  | { readonly type: 'end'; readonly records: number };

/** The first line. */
export interface ExportHeader {
  readonly type: 'export';
  readonly format: typeof EXPORT_FORMAT;
  /** Absent: there is nothing sealed yet. */
  readonly log?: string;
  /** What was asked for; without members: everything. */
  readonly filter: AuditFilter;
  /** Of the leaves before this one nothing is kept but the hashes of subtrees. */
  readonly first: number;
  /** Leaves of the newest head, which the export is of. */
  readonly size: number;
}
