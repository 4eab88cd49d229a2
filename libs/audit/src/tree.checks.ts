import type { AuditHead } from '#lib/domain';
import type { Finding } from './findings.js';
import { TreeEdge } from './merkle.js';

/** Follows the leaves of an export in order, and holds the root of what it has seen against heads. */
export class TreeChecks {
  /** The next leaf. */
  next = 0;
  /** Undefined once leaves are missing: no root follows any more. */
  private edge: TreeEdge | undefined = TreeEdge.empty();
  /** Leaves of the last head that was right. */
  private good = 0;
  private isRewritten = false;

  constructor(private readonly report: (finding: Finding) => void) {}

  /** True once leaves are missing. */
  get isBroken(): boolean {
    return this.edge === undefined;
  }

  /** @param id names the record in findings */
  leaf(leaf: number, hash: Uint8Array, id: string): void {
    if (leaf < this.next) return this.report({ kind: 'reordered', leaf: this.next, sealedAs: leaf, id });
    this.skip(leaf);
    this.next = leaf + 1;
    this.edge?.add(hash);
  }

  /** False when no such subtree can begin here. */
  subtree(level: number, no: number, hash: Uint8Array): boolean {
    const from = no * 2 ** level;
    if (from < this.next || !Number.isSafeInteger(from) || level < 0) return false;
    this.skip(from);
    this.next = from + 2 ** level;
    this.edge?.add(hash, level);
    return true;
  }

  /** Leaves up to this one are not there. */
  skip(to: number): void {
    if (to <= this.next) return;
    this.report({ kind: 'missing', from: this.next, to });
    this.edge = undefined;
    this.next = to;
  }

  /** False when the tree cannot be held against this head. */
  compare({ size, root }: Pick<AuditHead, 'size' | 'root'>, by: 'export' | 'checkpoint'): boolean {
    if (this.edge?.size !== size) return false;
    const isRight = Buffer.from(this.edge.root()).toString('hex') === root;
    if (isRight) this.good = size;
    else if (!this.isRewritten) this.report({ kind: 'rewritten', from: Math.min(this.good, size - 1), to: size, by });
    this.isRewritten ||= !isRight;
    return true;
  }
}
