import type { AuditHead, AuditPruning } from '#lib/domain';
import { hasField } from './digest.js';
import type { Finding } from './findings.js';
import { type HeadKey, isPruningSignedBy } from './head.js';
import { isOver } from './pruning.js';

export interface PruningRules {
  /** Who may have signed; undefined: signatures are not asked for. */
  readonly keys: readonly HeadKey[] | undefined;
  /** What may be gone must have been kept for so many days; undefined: for as many as it says. */
  readonly keepDays?: number | undefined;
}

type Fault = Extract<Finding, { readonly kind: 'bad_pruning' }>['fault'];

/** What an export says of records that are not kept any longer, as far as it can be believed. */
export class PruningChecks {
  readonly believed: AuditPruning[] = [];

  constructor(
    private readonly rules: PruningRules,
    private readonly report: (finding: Finding) => void,
  ) {}

  /** @param log the log the export is of. */
  add(pruning: AuditPruning, log: string | undefined): void {
    const { tenant, size, days } = pruning;
    const fault = this.faultOf(pruning, log);
    if (fault === undefined) this.believed.push(pruning);
    else this.report({ kind: 'bad_pruning', tenant, size, days, fault });
  }

  /** Of the leaves before this one no record is kept, whosever it was. */
  get all(): number {
    return Math.max(0, ...this.believed.filter(({ tenant }) => tenant === null).map(({ size }) => size));
  }

  /** True when the record of this leaf may be gone. */
  covers(leaf: number, digest: Uint8Array): boolean {
    return this.believed.some(
      ({ tenant, size }) => leaf < size && (tenant === null || hasField(digest, 'tenant', tenant)),
    );
  }

  /** What the tree was that is not kept whole. */
  treesOf(size: number): readonly Pick<AuditHead, 'size' | 'root'>[] {
    return this.believed.filter((pruning) => pruning.size === size);
  }

  private faultOf(pruning: AuditPruning, log: string | undefined): Fault | undefined {
    const { keys, keepDays = 0 } = this.rules;
    if (pruning.log !== log) return 'of another log';
    if (keys && pruning.kid === null) return 'not signed';
    if (keys && !keys.some((key) => isPruningSignedBy(pruning, key))) return 'forged';
    if (!isOver(pruning, Date.parse(pruning.at))) return 'early';
    return pruning.days < keepDays ? 'short' : undefined;
  }
}
