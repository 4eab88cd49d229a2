import type { AuditPruningLedger, DuePruning, Logger } from '#lib/domain';
import type { HeadSigner } from './head.js';
import { isOver } from './pruning.js';
import { edgeAt, hashesFrom } from './tree.reader.js';

/**
 * Says, signed, which records are past their time, before anybody removes them. It goes by heads it can verify: neither
 * younger records nor a tree that is not the one that was sealed get a word of it, whatever the database says.
 */
export class AuditPruner {
  readonly name = 'audit-pruning';
  readonly everyMs = 60_000;
  private broken: string | undefined;

  constructor(
    private readonly ledger: AuditPruningLedger,
    private readonly logger: Logger,
    private readonly signer: HeadSigner | undefined,
    private readonly nowMs: () => number = Date.now,
  ) {}

  /** Why records stay that are past their time; undefined while all is well. */
  get fault(): string | undefined {
    return this.broken;
  }

  async runOnce(): Promise<void> {
    let fault: string | undefined;
    for (const due of await this.ledger.due(this.signer?.keys.map(({ kid }) => kid))) {
      const found = await this.faultOf(due);
      if (found === undefined) await this.declare(due);
      fault ??= found;
    }
    if (fault !== undefined && fault !== this.broken)
      this.logger.error('audit records that are past their time are not removed', { fault });
    this.broken = fault;
  }

  private async faultOf({ head, days }: DuePruning): Promise<string | undefined> {
    if (!isOver({ sealedAt: head.at, days }, this.nowMs())) return 'the database has another time than this process';
    if (this.signer && !this.signer.knows(head))
      return `the head of ${head.size} records has a signature that is not its own`;
    const edge = await edgeAt(head.size, hashesFrom(this.ledger.tree)).catch((error: unknown) => String(error));
    if (typeof edge === 'string') return edge;
    const root = Buffer.from(edge.root()).toString('hex');
    return root === head.root ? undefined : `the tree is not that of its head of ${head.size} records`;
  }

  private async declare({ tenant, days, head: { log, size, root, at: sealedAt }, at }: DuePruning): Promise<void> {
    const body = { log, tenant, size, root, sealedAt, days, at };
    await this.ledger.declare(this.signer?.signPruning(body) ?? { ...body, kid: null, signature: null });
  }
}
