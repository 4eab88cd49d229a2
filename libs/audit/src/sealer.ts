import type { AuditLedger, DueRecords, Logger, SealSession, StoredHead, TreeNode } from '#lib/domain';
import { digestRecord, leafHash } from './digest.js';
import type { HeadSigner } from './head.js';
import type { TreeEdge } from './merkle.js';
import { edgeAt, hashesFrom, KEPT_LEVELS } from './tree.reader.js';

/** Records in one step: small enough that a step is a fraction of the promised two seconds. */
const BATCH = 2_000;

/**
 * Puts committed records on the tree, in the order of their transactions, and signs its head. Any number of processes may
 * try, one at a time does. It builds on nothing but what it can prove: a tree that is not the one of its last head is
 * left as it is, loudly.
 */
export class Sealer {
  /** The edge of the tree as of the last step of this process. */
  private edge: TreeEdge | undefined;
  private broken: string | undefined;

  constructor(
    private readonly ledger: AuditLedger,
    private readonly logger: Logger,
    private readonly signer: HeadSigner | undefined,
    private readonly nowMs: () => number = Date.now,
  ) {}

  /** Why nothing is sealed any more; undefined while all is well. */
  get fault(): string | undefined {
    return this.broken;
  }

  /** Seals all there is to seal. */
  async run(): Promise<void> {
    for (let hasMore = true; hasMore;) {
      const done = await this.ledger.seal((session) => this.step(session));
      // Only what is committed is known to be there.
      if (done !== undefined) this.edge = done.grown;
      hasMore = done?.hasMore ?? false;
    }
  }

  /** Undefined: nothing was sealed. */
  private async step(
    session: SealSession,
  ): Promise<{ readonly grown: TreeEdge; readonly hasMore: boolean } | undefined> {
    const due = await session.due(BATCH);
    const edge = await this.edgeOf(due, session);
    if (edge === undefined || due.records.length === 0) return undefined;
    const nodes: TreeNode[] = [];
    const grown = edge.fork(({ level, no }, hash) => {
      if (level % KEPT_LEVELS === 0) nodes.push({ level, no, hash });
    });
    const digests = due.records.map((record, index) => digestRecord(record, due.size + index));
    for (const digest of digests) grown.add(leafHash(digest));
    const { log, system, mark } = due;
    // Retention goes by the age of heads: a clock of the database that was set back must not make them old.
    const at = laterOf(due.at, this.nowMs());
    const root = Buffer.from(grown.root()).toString('hex');
    const body = { log, size: grown.size, root, system, mark, at };
    const head = this.signer?.sign(body) ?? { ...body, kid: null, signature: null };
    await session.write({ due, digests, nodes, head, ...(this.signer && { publicKey: this.signer.signing.pem }) });
    return { grown, hasMore: due.hasMore };
  }

  /** The edge of the stored tree; undefined when that is not what its last head says. */
  private async edgeOf({ size, head }: DueRecords, { tree }: SealSession): Promise<TreeEdge | undefined> {
    if (this.edge?.size === size && isHeadOf(this.edge, head)) return this.edge;
    if (this.edge !== undefined && size < this.edge.size)
      this.logger.error('audit records that were sealed are gone: was the database restored?', {
        size,
        sealed: this.edge.size,
      });
    const loaded = await edgeAt(size, hashesFrom(tree)).catch((error: unknown) => this.report(String(error)));
    if (loaded === undefined) return undefined;
    if (!isHeadOf(loaded, head)) return this.report('the tree is not that of its last head');
    if (!this.isKnown(head))
      return this.report(`the last head is not signed by a key of AUDIT_KEY_FILE (${head?.kid})`);
    this.broken = undefined;
    return loaded;
  }

  private isKnown(head: StoredHead | undefined): boolean {
    return head === undefined || head.kid === null || this.signer === undefined || this.signer.knows(head);
  }

  private report(fault: string): undefined {
    if (this.broken !== fault)
      this.logger.error('audit records are not sealed: somebody has altered the tree', { fault });
    this.broken = fault;
    return undefined;
  }
}

/** Both as `at` of a record. */
function laterOf(at: string, ms: number): string {
  const own = new Date(ms).toISOString().replace('Z', '000Z');
  return own > at ? own : at;
}

function isHeadOf(edge: TreeEdge, head: StoredHead | undefined): boolean {
  if (head === undefined) return edge.size === 0;
  return edge.size === head.size && Buffer.from(edge.root()).toString('hex') === head.root;
}
