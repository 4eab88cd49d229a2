import type { AuditLedger, Logger, StoredHead } from '#lib/domain';

/** Heads sent at once. */
const BATCH = 100;

/** A place for heads where those who administer the database cannot write. */
export interface HeadSink {
  readonly kind: 'file' | 'webhook' | 'bucket';
  /** Names it in the database and in logs. */
  readonly name: string;
  /** The last head it has, where it knows better than the database. */
  last?(): Promise<StoredHead | undefined>;
  /** Resolves when they are safe there. They may come again. */
  send(heads: readonly StoredHead[]): Promise<void>;
}

/** Brings every head to a sink, in order, at least once; what it does not take is tried again at the next turn. */
export class HeadExport {
  readonly name: string;
  readonly everyMs = 1_000;
  private failing = false;

  constructor(
    private readonly ledger: AuditLedger,
    private readonly sink: HeadSink,
    private readonly logger: Logger,
  ) {
    this.name = `audit-heads-${sink.kind}`;
  }

  /** Whether it has not taken what it was last sent. */
  get isFailing(): boolean {
    return this.failing;
  }

  async runOnce(): Promise<void> {
    try {
      while (await this.step());
      this.failing = false;
    } catch (error) {
      if (!this.failing) this.logger.error('audit heads cannot be exported', { sink: this.sink.name, error });
      this.failing = true;
    }
  }

  private async step(): Promise<boolean> {
    const heads = await this.ledger.headsAfter(await this.reached(), BATCH);
    const last = heads.at(-1);
    if (last === undefined) return false;
    await this.sink.send(heads);
    await this.ledger.setExported(this.sink.name, last.no);
    return heads.length === BATCH;
  }

  /**
   * The number of the last head that is there. What the sink has may be of another history, when the database was restored:
   * the numbers that follow have then been given out twice.
   */
  private async reached(): Promise<number> {
    const last = await this.sink.last?.();
    if (last === undefined) return this.sink.last ? 0 : this.ledger.exported(this.sink.name);
    const [same] = await this.ledger.headsAfter(last.no - 1, 1);
    const isOurs = same?.no === last.no && same.log === last.log && same.root === last.root && same.at === last.at;
    return isOurs ? last.no : this.ledger.exported(this.sink.name);
  }
}
